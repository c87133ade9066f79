"""Moments that statements name."""

from __future__ import annotations

import datetime

from sharkpy.base.settings import TIME_ZONE, Conf
from sharkpy.base.time_zone import time_zone, zone_name

MOMENT_HINT = "write 'yyyy-mm-dd hh:mm:ss'"


def milliseconds(text: str, conf: Conf) -> int | None:
    """Parse a moment to milliseconds since 1970; None if the text is not one.

    Without a time zone, the text is in the session's zone.
    """
    try:
        clock = datetime.datetime.fromisoformat(text.strip())
        zoned = clock if clock.tzinfo else clock.replace(tzinfo=time_zone(zone_name(conf.value(TIME_ZONE))))
        return int(zoned.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def moment_text(moment_ms: int) -> str:
    """Return a text for a moment that has the same meaning in every session."""
    moment = datetime.datetime.fromtimestamp(moment_ms / 1000, datetime.UTC)
    return moment.isoformat(" ", "milliseconds")

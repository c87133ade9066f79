"""Durations, as a program gives them."""

from __future__ import annotations

import datetime
import re

from sharkpy.base.errors import BindError

Length = str | datetime.timedelta
"""Such as "30 minutes"."""
_LENGTH = re.compile(r"\s*([0-9]{1,9})\s*([A-Za-z]{1,12})\s*")
_UNITS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1_000),
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1_000_000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000_000),
}


def microseconds(length: Length) -> int:
    """Return a duration above 0 in microseconds. Raise BindError for any other value."""
    if isinstance(length, datetime.timedelta):
        number, unit = length // datetime.timedelta(microseconds=1), 1
    else:
        found = _LENGTH.fullmatch(str(length))
        number, unit = (0, 0) if found is None else (int(found[1]), _UNITS.get(found[2].lower(), 0))
    if number * unit <= 0:
        raise BindError(f'"{length}" is not a length of time', hint='such as "30 minutes"')
    return number * unit

"""Names of time zones as in Java: IANA names, Java's short names, and offsets from UTC."""

from __future__ import annotations

import datetime
import os
import re
import zoneinfo
from functools import lru_cache
from pathlib import Path

from sharkpy.base.errors import ConfigurationError
from sharkpy.base.parse_limits import shortened

LOCAL = "LOCAL"
"""The zone of the process."""
UTC = "UTC"
_LONGEST_NAME = 64
"""Longest name that is looked up: names are cached."""
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?", re.ASCII)
_SHORT_NAMES = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
    "EST": "-05:00",
    "MST": "-07:00",
    "HST": "-10:00",
    "Z": UTC,
    "UT": UTC,
    "GMT": UTC,
}
"""Java's ZoneId.SHORT_IDS."""


def time_zone(name: str) -> datetime.tzinfo | None:
    """Return the zone of a name, or None if there is no such zone."""
    return _zone(name) if len(name) <= _LONGEST_NAME else None


@lru_cache(maxsize=1024)
def _zone(name: str) -> datetime.tzinfo | None:
    known = _SHORT_NAMES.get(name, name)
    if match := _OFFSET.fullmatch(known):
        sign, hours, minutes = match.groups()
        offset = datetime.timedelta(hours=int(hours), minutes=int(minutes or 0))
        within = offset <= datetime.timedelta(hours=18)
        return datetime.timezone(-offset if sign == "-" else offset) if within else None
    try:
        return datetime.UTC if known == UTC else zoneinfo.ZoneInfo(known)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None


def arrow_zone(name: str) -> str:
    """Return Arrow's name of a time zone: an offset, or a name of the time zone database."""
    zone = time_zone(name)
    if isinstance(zone, datetime.timezone):
        # The end of a moment's ISO form is its offset: +HH:MM.
        return datetime.datetime.now(zone).isoformat()[-6:]
    return str(zone)


def check_zone(name: str) -> str:
    """Return the name as settings store it. Raise ConfigurationError if there is no such zone."""
    bare = name.strip().strip("'\"")
    if bare.upper() == LOCAL:
        return LOCAL
    if time_zone(bare) is None:
        hint = "take a name such as Europe/Berlin, an offset such as +02:00, or LOCAL"
        raise ConfigurationError(f'"{shortened(name)}" is not a time zone', hint=hint, sqlstate="22023")
    return bare


def zone_name(setting: str) -> str:
    """Return the zone name of a setting. LOCAL is the zone of the process; all names of UTC become UTC."""
    name = local_zone() if setting == LOCAL else setting
    zone = time_zone(name)
    return UTC if zone in (None, datetime.UTC, datetime.timezone(datetime.timedelta(0))) or name in _UTC_NAMES else name


_UTC_NAMES = ("Etc/UTC", "Etc/UCT", "Etc/Zulu", "Universal", "Zulu", "UCT", "Etc/Universal")


def local_zone() -> str:
    """Return the zone of the process: TZ, else the zone of the machine, else UTC."""
    name = os.environ.get("TZ", "").removeprefix(":")
    if name and time_zone(name) is not None:
        return name
    target = os.path.realpath("/etc/localtime")
    _, found, name = target.partition("zoneinfo/")
    return name if found and Path(target).exists() and time_zone(name) is not None else UTC

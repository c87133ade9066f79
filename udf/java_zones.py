"""Zones in Java's date patterns: their English names and offsets, read and written, and conversion of clocks."""

from __future__ import annotations

import datetime
import zoneinfo

from sharkpy.base.time_zone import UTC, time_zone

ZONE_LETTERS = frozenset("zvVOZXx")
"""Letters of a pattern for the zone of the clock."""
ZONE_TEXT = r"(?:UTC|GMT|UT)?[+-]\d{1,2}(?::?\d{2})?|[A-Za-z]+(?:[/_-][A-Za-z0-9_+-]+)*"
_MINUTE = 60


def zone_shift(value: datetime.datetime, zone: str, to_utc: bool) -> datetime.datetime | None:
    """Convert a time in UTC to the clock of `zone`, or back. An unknown name counts as UTC.

    As in Java, a time that the clock shows twice is the earlier one, and a skipped time moves on by the length of the
    gap. Return None outside the years 1 to 9999.
    """
    info = time_zone(zone) or datetime.UTC
    try:
        if to_utc:
            return value.replace(tzinfo=info).astimezone(datetime.UTC).replace(tzinfo=None)
        return value.replace(tzinfo=datetime.UTC).astimezone(info).replace(tzinfo=None)
    except OverflowError:
        return None


def at_zone(moment: datetime.datetime, zone: str) -> datetime.datetime:
    """Return the clock of `zone` at a time in UTC, with its zone."""
    return moment.replace(tzinfo=datetime.UTC).astimezone(time_zone(zone) or datetime.UTC)


def zone_text(value: datetime.datetime, letter: str, width: int) -> str | None:
    """Return the text of a run of `width` zone letters for a clock, or None for a width that Java does not support."""
    seconds = round((value.utcoffset() or datetime.timedelta()).total_seconds())
    match letter:
        case "V":
            return _zone_id(value) if width == 2 else None
        case "O":
            return _localized(seconds, width)
        case "Z" if width == 4:
            return _localized(seconds, width)
        case "Z":
            return _offset(seconds, width, "Z") if width == 5 else _offset(seconds, 2, "+0000")
        case "X":
            return _offset(seconds, width, "Z")
        case "x":
            return _offset(seconds, width, "+00" if width == 1 else "+0000" if width % 2 == 0 else "+00:00")
    return _name(value, width, seconds)


def _offset(seconds: int, width: int, zero: str) -> str:
    """Format `-04`, `-0400` or `-04:00`. An odd width above 1 has colons, a width above 3 shows the seconds of old
    offsets.
    """
    if seconds == 0:
        return zero
    minutes, rest = divmod(abs(seconds), _MINUTE)
    parts = [f"{minutes // _MINUTE:02d}", f"{minutes % _MINUTE:02d}"]
    if width == 1 and minutes % _MINUTE == 0:
        parts.pop()
    if width > 3 and rest:
        parts.append(f"{rest:02d}")
    return ("-" if seconds < 0 else "+") + (":" if width in (3, 5) else "").join(parts)


def _localized(seconds: int, width: int) -> str:
    """Format `GMT-4`, or `GMT-04:00` for four letters."""
    if seconds == 0:
        return "GMT"
    if width == 4:
        return "GMT" + _offset(seconds, 3, "")
    hours, minutes = divmod(abs(seconds) // _MINUTE, _MINUTE)
    return f"GMT{'-' if seconds < 0 else '+'}{hours}" + (f":{minutes:02d}" if minutes else "")


def _zone_id(value: datetime.datetime) -> str:
    match value.tzinfo:
        case zoneinfo.ZoneInfo(key=key) if key:
            return str(key)
        case datetime.tzinfo() if value.utcoffset():
            return _offset(round((value.utcoffset() or datetime.timedelta()).total_seconds()), 3, "Z")
    return UTC


def _name(value: datetime.datetime, width: int, seconds: int) -> str:
    """Format `EST`, or `Eastern Standard Time` for four letters, or the offset if the zone has no name."""
    if not isinstance(value.tzinfo, zoneinfo.ZoneInfo):
        return _zone_id(value) if seconds or width < 4 else "Coordinated Universal Time"
    short = value.tzname() or ""
    if not short.isalpha():
        return _localized(seconds, 4)
    return short if width < 4 else LONG_NAMES.get((short, seconds), short)


def read_zone(text: str) -> datetime.tzinfo | None:
    """Return the zone of an offset, an id, or a short name in any case, or None if there is no such zone."""
    return time_zone(ZONES_OF_NAMES.get(text.upper(), text))


_HOUR = 3600

NAMES: tuple[tuple[str, float, str, str], ...] = (
    ("ACDT", 10.5, "Australian Central Daylight Time", "Australia/Adelaide"),
    ("ACST", 9.5, "Australian Central Standard Time", "Australia/Adelaide"),
    ("ADT", -3, "Atlantic Daylight Time", "America/Halifax"),
    ("AEDT", 11, "Australian Eastern Daylight Time", "Australia/Sydney"),
    ("AEST", 10, "Australian Eastern Standard Time", "Australia/Sydney"),
    ("AKDT", -8, "Alaska Daylight Time", "America/Anchorage"),
    ("AKST", -9, "Alaska Standard Time", "America/Anchorage"),
    ("AST", -4, "Atlantic Standard Time", "America/Halifax"),
    ("AWST", 8, "Australian Western Standard Time", "Australia/Perth"),
    ("BST", 1, "British Summer Time", "Europe/London"),
    ("CAT", 2, "Central Africa Time", "Africa/Maputo"),
    ("CDT", -5, "Central Daylight Time", "America/Chicago"),
    ("CDT", -4, "Cuba Daylight Time", "America/Havana"),
    ("CEST", 2, "Central European Summer Time", "Europe/Paris"),
    ("CET", 1, "Central European Standard Time", "Europe/Paris"),
    ("CST", -6, "Central Standard Time", "America/Chicago"),
    ("CST", -5, "Cuba Standard Time", "America/Havana"),
    ("CST", 8, "China Standard Time", "Asia/Shanghai"),
    ("ChST", 10, "Chamorro Standard Time", "Pacific/Guam"),
    ("EAT", 3, "East Africa Time", "Africa/Nairobi"),
    ("EDT", -4, "Eastern Daylight Time", "America/New_York"),
    ("EEST", 3, "Eastern European Summer Time", "Europe/Bucharest"),
    ("EET", 2, "Eastern European Standard Time", "Europe/Bucharest"),
    ("EST", -5, "Eastern Standard Time", "America/New_York"),
    ("GMT", 0, "Greenwich Mean Time", "GMT"),
    ("HDT", -9, "Hawaii-Aleutian Daylight Time", "America/Adak"),
    ("HKT", 8, "Hong Kong Standard Time", "Asia/Hong_Kong"),
    ("HST", -10, "Hawaii-Aleutian Standard Time", "Pacific/Honolulu"),
    ("IDT", 3, "Israel Daylight Time", "Asia/Jerusalem"),
    ("IST", 1, "Irish Standard Time", "Europe/Dublin"),
    ("IST", 2, "Israel Standard Time", "Asia/Jerusalem"),
    ("IST", 5.5, "India Standard Time", "Asia/Kolkata"),
    ("JST", 9, "Japan Standard Time", "Asia/Tokyo"),
    ("KST", 9, "Korean Standard Time", "Asia/Seoul"),
    ("MDT", -6, "Mountain Daylight Time", "America/Denver"),
    ("MSK", 3, "Moscow Standard Time", "Europe/Moscow"),
    ("MST", -7, "Mountain Standard Time", "America/Denver"),
    ("NDT", -2.5, "Newfoundland Daylight Time", "America/St_Johns"),
    ("NST", -3.5, "Newfoundland Standard Time", "America/St_Johns"),
    ("NZDT", 13, "New Zealand Daylight Time", "Pacific/Auckland"),
    ("NZST", 12, "New Zealand Standard Time", "Pacific/Auckland"),
    ("PDT", -7, "Pacific Daylight Time", "America/Los_Angeles"),
    ("PKT", 5, "Pakistan Standard Time", "Asia/Karachi"),
    ("PST", -8, "Pacific Standard Time", "America/Los_Angeles"),
    ("PST", 8, "Philippine Standard Time", "Asia/Manila"),
    ("SAST", 2, "South Africa Standard Time", "Africa/Johannesburg"),
    ("SST", -11, "Samoa Standard Time", "Pacific/Pago_Pago"),
    ("UTC", 0, "Coordinated Universal Time", "UTC"),
    ("WAT", 1, "West Africa Standard Time", "Africa/Lagos"),
    ("WEST", 1, "Western European Summer Time", "Europe/Lisbon"),
    ("WET", 0, "Western European Standard Time", "Europe/Lisbon"),
    ("WIB", 7, "Western Indonesia Time", "Asia/Jakarta"),
    ("WIT", 9, "Eastern Indonesia Time", "Asia/Jayapura"),
    ("WITA", 8, "Central Indonesia Time", "Asia/Makassar"),
)
"""Short name, hours from UTC, long name, and a zone of that name."""

LONG_NAMES = {(short, round(hours * _HOUR)): long for short, hours, long, _ in NAMES}
"""Short name and seconds from UTC -> long name, since several zones may share a short name."""

_READ_AS = {"AST": "America/Halifax", "CST": "America/Chicago", "IST": "Asia/Kolkata", "PST": "America/Los_Angeles"}
ZONES_OF_NAMES = {**{short.upper(): zone for short, _, _, zone in NAMES}, "CDT": "America/Chicago", **_READ_AS}
"""Short name in upper case -> the zone that it is read as."""

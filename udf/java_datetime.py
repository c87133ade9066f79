"""Java's date and time patterns, as DuckDB strftime formats if possible, else by a kernel."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from functools import lru_cache

from sharkpy.base.errors import BindError
from sharkpy.udf.duckdb_sql import quote_string
from sharkpy.udf.java_zones import ZONE_LETTERS, ZONE_TEXT, at_zone, read_zone, zone_shift, zone_text

_STRFTIME = {
    "yyyy": "%Y",
    "y": "%Y",
    "uuuu": "%Y",
    "yy": "%y",
    "MMMM": "%B",
    "LLLL": "%B",
    "MMM": "%b",
    "LLL": "%b",
    "MM": "%m",
    "M": "%-m",
    "LL": "%m",
    "L": "%-m",
    "dd": "%d",
    "d": "%-d",
    "HH": "%H",
    "H": "%-H",
    "hh": "%I",
    "h": "%-I",
    "mm": "%M",
    "m": "%-M",
    "ss": "%S",
    "s": "%-S",
    "SSS": "%g",
    "SSSSSS": "%f",
    "a": "%p",
    "EEEE": "%A",
    "EEE": "%a",
    "EE": "%a",
    "E": "%a",
    "DDD": "%j",
    "D": "%-j",
}
_YEARS = "yuY"
"""Letters of years. A single u is the day of the week."""
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


_QUARTERS = ["1st quarter", "2nd quarter", "3rd quarter", "4th quarter"]


_MOST_PATTERN = 1000
"""Characters of a pattern: each is processed for every time, and patterns are cached."""


def tokens(pattern: str) -> tuple[tuple[str, bool], ...]:
    """Return the pattern's parts: (text, whether it is a run of one pattern letter)."""
    if len(pattern) > _MOST_PATTERN:
        raise BindError(
            f"a date pattern of {len(pattern)} characters", hint=f"at most {_MOST_PATTERN}", sqlstate="22007"
        )
    return _tokens(pattern)


@lru_cache(maxsize=256)
def _tokens(pattern: str) -> tuple[tuple[str, bool], ...]:
    parts: list[tuple[str, bool]] = []
    position = 0
    while position < len(pattern):
        char = pattern[position]
        if char == "'":
            quoted = re.compile(r"'([^']*+(?:''[^']*+)*+)'").match(pattern, position)
            if quoted is None:
                raise BindError(f'"{pattern}" is not a date pattern: unclosed quote', sqlstate="22007")
            parts.append((quoted.group(1).replace("''", "'") or "'", False))
            position = quoted.end()
        elif char.isascii() and char.isalpha():
            end = position
            while end < len(pattern) and pattern[end] == char:
                end += 1
            parts.append((pattern[position:end], True))
            position = end
        else:
            parts.append((char, False))
            position += 1
    return tuple(parts)


def formatted_sql(time: str, pattern: str) -> str | None:
    """Return DuckDB SQL of `time` in a Java pattern, or None if the pattern is empty or only the kernel supports a
    letter.
    """
    parts: list[str] = []
    form = ""
    for text, is_field in tokens(pattern):
        if not is_field:
            form += text.replace("%", "%%")
        elif text in _STRFTIME:
            form += _STRFTIME[text]
        elif number := _NUMBERS_SQL.get(text):
            parts += [f"strftime({time}, {quote_string(form)})"] * bool(form)
            parts.append(f"format('{{:0{len(text)}d}}', {number.format(time)})")
            form = ""
        else:
            return None
    parts += [f"strftime({time}, {quote_string(form)})"] * bool(form)
    return f"({' || '.join(parts)})" if len(parts) > 1 else next(iter(parts), None)


def has_zone(pattern: str) -> bool:
    """Return whether the pattern has a letter for the zone."""
    return any(is_field and text[0] in ZONE_LETTERS for text, is_field in tokens(pattern))


def format_time(value: datetime.datetime, pattern: str) -> str:
    """Format `value` by a Java pattern, in UTC if it has no zone. Raise BindError for an unknown letter."""
    return "".join(_field(value, text) if is_field else text for text, is_field in tokens(pattern))


def format_moment(moment: datetime.datetime, pattern: str, zone: str) -> str | None:
    """Format a time in UTC by a Java pattern, on the clock of `zone`. Return None outside the years 1 to 9999."""
    try:
        return format_time(at_zone(moment, zone), pattern)
    except OverflowError:
        return None


def _last_of_week(value: datetime.datetime) -> datetime.datetime:
    """Return the Saturday of a week. Weeks begin on Sunday, and the first week of a year contains its first day."""
    return value + datetime.timedelta(days=(5 - value.weekday()) % 7)


def _week_of_month(value: datetime.datetime) -> int:
    first = value.replace(day=1)
    return (value.day - 1 + (first.weekday() + 1) % 7) // 7 + 1


def _quarter(value: datetime.datetime) -> int:
    return (value.month - 1) // 3 + 1


def _fraction(microsecond: int, width: int) -> str:
    """Format milliseconds as a number for one or two letters, else the first digits of the second's fraction."""
    if width < 3:
        return f"{microsecond // 1000:0{width}d}"
    return f"{microsecond:06d}"[:width].ljust(width, "0")


def _field(value: datetime.datetime, text: str) -> str:
    letter, width = text[0], len(text)
    match letter:
        case "y" | "u" if letter == "y" or width > 1:
            return f"{value.year % 100:02d}" if width == 2 else f"{value.year:0{width}d}"
        case "u":
            return str(value.isoweekday())
        case "Y":
            year = _last_of_week(value).year
            return f"{year % 100:02d}" if width == 2 else f"{year:0{width}d}"
        case "M" | "L":
            name = _MONTHS[value.month - 1]
            return name if width >= 4 else name[:3] if width == 3 else f"{value.month:0{width}d}"
        case "E":
            name = _DAYS[value.weekday()]
            return name if width >= 4 else name[:3]
        case "a":
            return "AM" if value.hour < 12 else "PM"
        case "S":
            return _fraction(value.microsecond, width)
        case "Q" | "q" if width >= 3:
            return f"Q{_quarter(value)}" if width == 3 else _QUARTERS[_quarter(value) - 1]
    if letter == "G":
        return "AD"
    if letter in ZONE_LETTERS and (zone := zone_text(value, letter, width)) is not None:
        return zone
    number = _NUMBERS.get(letter)
    if number is None:
        raise BindError(f'unknown letter "{letter}" in a date pattern', sqlstate="22007")
    return f"{number(value):0{width}d}"


_NUMBERS: dict[str, Callable[[datetime.datetime], int]] = {
    "d": lambda value: value.day,
    "D": lambda value: value.timetuple().tm_yday,
    "H": lambda value: value.hour,
    "k": lambda value: value.hour or 24,
    "K": lambda value: value.hour % 12,
    "h": lambda value: value.hour % 12 or 12,
    "m": lambda value: value.minute,
    "s": lambda value: value.second,
    "w": lambda value: (_last_of_week(value).timetuple().tm_yday + 6) // 7,
    "W": _week_of_month,
    "F": lambda value: (value.day - 1) // 7 + 1,
    "Q": _quarter,
    "q": _quarter,
}
"""Letter of a number -> the part of the time that it shows."""
_QUARTER_SQL, _CLOCK_SQL, _HALF_DAY_SQL = "quarter({0})", "((hour({0}) + 23) % 24 + 1)", "(hour({0}) % 12)"
_NUMBERS_SQL = {
    "u": "isodow({0})",
    "k": _CLOCK_SQL,
    "kk": _CLOCK_SQL,
    "K": _HALF_DAY_SQL,
    "KK": _HALF_DAY_SQL,
    "F": "((day({0}) - 1) // 7 + 1)",
    "Q": _QUARTER_SQL,
    "QQ": _QUARTER_SQL,
}
"""Fields of these letters that strftime does not have, as DuckDB SQL."""


def _parser(pattern: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    return _compiled(tokens(pattern))


@lru_cache(maxsize=256)
def _compiled(fields: tuple[tuple[str, bool], ...]) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """Compile the pattern to a regular expression without backtracking, as in Java's parser: it takes linear time."""
    parts, letters = [], []
    for index, (text, is_field) in enumerate(fields):
        if not is_field:
            parts.append(re.escape(text))
            continue
        adjacent = index + 1 < len(fields) and fields[index + 1][1]
        letters.append(text)
        # Java takes as much of the text as fits a field, and never less afterwards.
        parts.append(f"((?>{_field_pattern(text, adjacent)}))")
    return re.compile(r"\s*+" + "".join(parts), re.ASCII | re.IGNORECASE), tuple(letters)


def _field_pattern(text: str, adjacent: bool) -> str:
    letter, width = text[0], len(text)
    if letter in "ML" and width >= 3:
        return "|".join(_MONTHS) + "|" + "|".join(name[:3] for name in _MONTHS)
    if letter == "E":
        return "|".join(_DAYS) + "|" + "|".join(name[:3] for name in _DAYS)
    if letter == "a":
        return "AM|PM"
    if letter in ZONE_LETTERS:
        return ZONE_TEXT
    if letter == "S" and not adjacent:
        return r"\d{1,9}"
    if adjacent:
        return rf"\d{{{width}}}"
    if letter in _YEARS and text != "u":
        return r"\d{2}" if width == 2 else rf"[+-]?\d{{{width},}}"
    return r"\d{1,3}" if letter == "D" else r"\d{1,2}"


def parse_time(text: str, pattern: str) -> datetime.datetime | None:
    """Parse the time at the start of `text` by a Java pattern, or return None if it does not match. The rest is
    ignored.

    If the text names a zone, the result is in UTC, else it is the clock's reading.
    """
    found = _read(text, pattern)
    return None if found is None else found[0]


def parse_moment(text: str, pattern: str, zone: str) -> datetime.datetime | None:
    """Parse the time at the start of `text` by a Java pattern, in UTC. Without a zone in the text, it is on the clock
    of `zone`.
    """
    found = _read(text, pattern)
    if found is None:
        return None
    value, is_utc = found
    return value if is_utc else zone_shift(value, zone, to_utc=True)


def _read(text: str, pattern: str) -> tuple[datetime.datetime, bool] | None:
    """Parse the time at the start of `text`. Return also whether it is in UTC, since the text names a zone."""
    expression, letters = _parser(pattern)
    match = expression.match(text)
    if match is None:
        return None
    found = dict(zip((letter[0] for letter in letters), match.groups(), strict=True))
    try:
        value = _assemble(found, {letter[0]: letter for letter in letters})
        named = next((part for letter, part in found.items() if letter in ZONE_LETTERS), None)
        if named is None:
            return value, False
        zone = read_zone(named)
        return (
            None if zone is None else (value.replace(tzinfo=zone).astimezone(datetime.UTC).replace(tzinfo=None), True)
        )
    except (ValueError, OverflowError):
        return None


def _assemble(found: dict[str, str], letters: dict[str, str]) -> datetime.datetime:
    letter = next((one for one in _YEARS if one in found and letters[one] != "u"), None)
    year = 1970 if letter is None else int(found[letter])
    if letter is not None and len(letters[letter]) == 2:
        year += 2000 if year < 70 else 1900
    month_text = found.get("M") or found.get("L") or "1"
    month = int(month_text) if month_text.isdigit() else _month_number(month_text)
    hour = int(found.get("H") or 0) or int(found.get("k") or 0) % 24 or int(found.get("K") or 0)
    if "h" in found:
        hour = int(found["h"]) % 12
    if found.get("a", "").upper() == "PM":
        hour += 12
    micros = int((found.get("S") or "0").ljust(6, "0")[:6])
    value = datetime.datetime(
        year, month, int(found.get("d") or 1), hour, int(found.get("m") or 0), int(found.get("s") or 0), micros
    )
    if "D" in found:
        value = value.replace(month=1, day=1) + datetime.timedelta(days=int(found["D"]) - 1)
    return value


def _month_number(text: str) -> int:
    return next(index for index, name in enumerate(_MONTHS, 1) if name[:3].lower() == text[:3].lower())

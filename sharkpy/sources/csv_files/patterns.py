"""Java's date patterns in CSV: they match whole fields, with the given widths and optional sections."""

from __future__ import annotations

import datetime
import functools
import re

from sharkpy.base.errors import ConfigurationError, SharkError
from sharkpy.udf.java_datetime import format_time, parse_time, tokens

_ZONES = frozenset("zZXxVOv")
_FIRST = datetime.datetime(2024, 1, 1)
"""First of the days that cover all months and weekdays."""
_MOST_SECTIONS = 4
_SECTION = re.compile(r"\[((?:[^'\[\]]|'[^']*')*)\]")
_SAMPLE = datetime.datetime(2024, 2, 29, 13, 14, 15, 123456)


def check_pattern(pattern: str) -> None:
    """Raise ConfigurationError for an invalid pattern."""
    try:
        format_time(_SAMPLE, variants(pattern)[0])
    except SharkError as error:
        message = f'"{pattern}" is not a date pattern: {error.message}'
        raise ConfigurationError(message, hint=error.hint, sqlstate="22007") from None


@functools.lru_cache(maxsize=64)
def variants(pattern: str) -> tuple[str, ...]:
    """Variants of a pattern with and without its optional sections; the one with all sections comes first."""
    found = [pattern]
    for _ in range(_MOST_SECTIONS):
        if not any(map(_SECTION.search, found)):
            break
        found = [one for text in found for one in _without_section(text)]
    if any("[" in text or "]" in text for text, _ in (part for one in found for part in tokens(one))):
        raise ConfigurationError(f'the sections of the date pattern "{pattern}" are too many or not closed')
    return tuple(found)


def _without_section(pattern: str) -> tuple[str, ...]:
    match = _SECTION.search(pattern)
    if match is None:
        return (pattern,)
    before, rest = pattern[: match.start()], pattern[match.end() :]
    return before + match[1] + rest, before + rest


def parsed(text: str, pattern: str) -> datetime.datetime | None:
    """Time of a whole field; None if it does not match the pattern."""
    for one in variants(pattern):
        if _form(one).fullmatch(text) and (value := parse_time(text, one)) is not None:
            return value
    return None


def written(value: datetime.datetime, pattern: str) -> str:
    return format_time(value, variants(pattern)[0])


@functools.lru_cache(maxsize=64)
def _form(pattern: str) -> re.Pattern[str]:
    """Regular expression for a pattern: a single letter is any number, repeated letters are that many digits."""
    parts = (_field_form(text) if is_field else re.escape(text) for text, is_field in tokens(pattern))
    return re.compile("".join(parts), re.IGNORECASE)


def _field_form(text: str) -> str:
    letter, width = text[0], len(text)
    if letter == "S":
        return rf"[0-9]{{1,{width}}}"
    if letter in _ZONES:
        return r"(?:Z|[+-][0-9]{1,2}(?::?[0-9]{2})?|[A-Za-z_/]+)"
    names = {format_time(_FIRST + datetime.timedelta(days=days), text) for days in range(0, 366, 5)}
    if any(name.isalpha() for name in names):
        return f"(?:{'|'.join(sorted(names))})"
    return rf"[0-9]{{{width}}}" if width > 1 else "[0-9]+"


def names_zone(pattern: str) -> bool:
    """True if times in this pattern have a zone; `parsed` then returns them in UTC."""
    return any(is_field and text[0] in _ZONES for text, is_field in tokens(variants(pattern)[0]))

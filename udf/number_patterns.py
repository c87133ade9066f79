"""Numbers in the patterns of to_char and to_number, written and read: [MI|S] [$] digits [.digits] [$] [MI|S|PR]."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_PATTERN = re.compile(
    r"(?P<before>MI|S)?(?P<dollar>\$)?(?P<whole>[09,G]*)(?P<point>[.D](?P<fraction>[09]*))?"
    r"(?P<dollar_behind>\$)?(?P<behind>MI|S|PR)?"
)
_MOST_DIGITS = 38
_MOST_TEXT = 200
"""Maximum length of a pattern, which leaves room for commas between all digits."""
PATTERN_HELP = "[MI|S][$]digits[.digits][$][MI|S|PR], where a digit is 0 or 9 and a comma or G parts groups"


@dataclass(frozen=True, slots=True)
class NumberPattern:
    """A pattern. `whole` and `fraction` are digits 0 and 9, and `whole` may have commas. Signs are "", "MI", "S" or
    "PR".
    """

    sign_before: str
    has_dollar: bool
    whole: str
    has_point: bool
    fraction: str
    has_dollar_behind: bool
    sign_behind: str

    @property
    def scale(self) -> int:
        return len(self.fraction)

    @property
    def precision(self) -> int:
        return len(self.whole.replace(",", "")) + len(self.fraction)


def parse_pattern(text: str) -> NumberPattern | None:
    """Parse a pattern, or return None if it is invalid."""
    return _parsed(text) if len(text) <= _MOST_TEXT else None


@lru_cache(maxsize=256)
def _parsed(text: str) -> NumberPattern | None:
    match = _PATTERN.fullmatch(text.upper())
    if match is None:
        return None
    whole, fraction = (match["whole"] or "").replace("G", ","), match["fraction"] or ""
    digits = len(whole.replace(",", "")) + len(fraction)
    if not 0 < digits <= _MOST_DIGITS or (match["before"] and match["behind"]):
        return None
    if match["dollar"] and match["dollar_behind"]:
        return None
    return NumberPattern(
        match["before"] or "",
        bool(match["dollar"]),
        whole,
        bool(match["point"]),
        fraction,
        bool(match["dollar_behind"]),
        match["behind"] or "",
    )


def to_char(value: str, pattern: str) -> str | None:
    """Format a number, given as plain decimal text, by a pattern. Digits become # if there are too many."""
    form = parse_pattern(pattern)
    if form is None:
        return None
    is_negative = value.startswith("-") and any(char in "123456789" for char in value)
    whole, _, fraction = value.lstrip("+-").partition(".")
    whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
    if len(whole) > len(form.whole.replace(",", "")) or len(fraction) > form.scale:
        return re.sub("[09]", "#", f"{form.whole}{'.' if form.has_point else ''}{form.fraction}")
    before, behind = _signs(form, is_negative)
    digits = _write_whole(form.whole, whole)
    if form.has_point and form.fraction:
        digits = digits[:-1] + "0" if digits.endswith(" ") else digits
        digits += "." + fraction.ljust(form.scale, "0")
    dollars = ("$" if form.has_dollar else "", "$" if form.has_dollar_behind else "")
    return f"{before}{dollars[0]}{digits}{dollars[1]}{behind}"


def _signs(form: NumberPattern, is_negative: bool) -> tuple[str, str]:
    written = {"": "", "S": "-" if is_negative else "+", "MI": "-" if is_negative else " "}
    if form.sign_behind == "PR":
        return ("<", ">") if is_negative else ("", "  ")
    return written[form.sign_before], written[form.sign_behind]


def _write_whole(places: str, digits: str) -> str:
    """Fill the digits into their places from the right. Before them are zeros from a 0 on, else spaces."""
    left = len(places.replace(",", "")) - len(digits)
    written, at, begun = [], 0, False
    for place in places:
        if place == ",":
            written.append("," if begun else " ")
            continue
        begun = begun or place == "0" or at >= left
        written.append(digits[at - left] if at >= left else "0" if begun else " ")
        at += 1
    return "".join(written)


def to_number(text: str, pattern: str) -> str | None:
    """Parse a text by a pattern and return the number as decimal text, or None if it does not match."""
    form = parse_pattern(pattern)
    match = _reader(pattern).fullmatch(text.strip()) if form is not None else None
    if match is None:
        return None
    whole, fraction = match["whole"].replace(",", ""), match["fraction"] or ""
    if not whole and not fraction:
        return None
    parts = match.groupdict()
    is_negative = "-" in (parts.get("before"), parts.get("behind")) or bool(parts.get("bracket"))
    return f"{'-' if is_negative else ''}{whole or '0'}.{fraction or '0'}"


@lru_cache(maxsize=256)
def _reader(pattern: str) -> re.Pattern[str]:
    form = parse_pattern(pattern)
    if form is None:
        raise ValueError(pattern)
    signs = {"": "", "S": "[+-]?", "MI": "-?"}
    before, behind = f"(?P<before>{signs[form.sign_before]})", f"(?P<behind>{signs.get(form.sign_behind, '')})"
    if form.sign_behind == "PR":
        before, behind = "(?P<bracket><)?", "(?(bracket)>)"
    fraction = rf"(?:\.(?P<fraction>\d{{0,{form.scale}}}))?" if form.has_point else "(?P<fraction>)"
    dollars = (r"\$" if form.has_dollar else "", r"\$" if form.has_dollar_behind else "")
    return re.compile(
        f"{before}{dollars[0]}(?P<whole>{_whole_reader(form.whole)}){fraction}{dollars[1]}{behind}", re.ASCII
    )


def _whole_reader(places: str) -> str:
    """Match digits in groups: all of them if the pattern begins with 0, else as many as there are, from the right."""
    groups = [len(group) for group in places.split(",")]
    if places.startswith("0"):
        return ",".join(rf"\d{{{size}}}" for size in groups)
    reader = rf"\d{{0,{groups[0]}}}"
    for size in groups[1:]:
        reader = rf"(?:{reader},\d{{{size}}}|\d{{0,{size}}})"
    return reader

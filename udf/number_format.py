"""java.text.DecimalFormat's patterns, as far as format_number uses them."""

from __future__ import annotations

import decimal
import re
from dataclasses import dataclass
from functools import lru_cache

from sharkpy.base.errors import ExecutionError
from sharkpy.udf.value_limit import check_value

_PATTERN = re.compile(
    r"(?P<prefix>[^#0,.;E]*+)(?P<number>[#0,]*+(?:\.[#0]*+)?)(?P<suffix>[^#0,.;]*+)(?:;.*)?", re.DOTALL
)
_MOST_PATTERN = 1000
"""Characters of a pattern: each is processed for every number, and patterns are cached."""
_ALL_DIGITS = decimal.Context(prec=1200)
_SPECIAL = {"NaN": "NaN", "Infinity": "∞", "-Infinity": "-∞"}


@dataclass(frozen=True, slots=True)
class _Format:
    prefix: str
    suffix: str
    group: int
    whole: int
    least: int
    most: int
    shift: int


def _form(pattern: str) -> _Format:
    if len(pattern) > _MOST_PATTERN:
        raise ExecutionError(
            f"format_number: a pattern of {len(pattern)} characters", hint=f"at most {_MOST_PATTERN}", sqlstate="22007"
        )
    return _parse(pattern)


@lru_cache(maxsize=256)
def _parse(pattern: str) -> _Format:
    """Parse a pattern: the text around the digits, digits per group, the minimum of digits before and after the point,
    the maximum after it.
    """
    match = _PATTERN.fullmatch(pattern)
    if match is None:
        raise ExecutionError(f'format_number: "{pattern}" is not a pattern of digits', sqlstate="22007")
    whole, _, fraction = match["number"].partition(".")
    _, comma, last = whole.rpartition(",")
    around = match["prefix"] + match["suffix"]
    has_zero = "0" in match["number"]
    return _Format(
        match["prefix"].replace("'", ""),
        match["suffix"].replace("'", ""),
        len(last) if comma else 0,
        whole.count("0") if has_zero else int("." in match["number"]),
        fraction.count("0"),
        len(fraction),
        2 if "%" in around else 3 if "‰" in around else 0,
    )


def format_pattern(value: str, pattern: str, is_floating: bool) -> str:
    """Format a number by a pattern such as `#,##0.00`, rounded half to even from the exact value of a DOUBLE."""
    return _formatted(value, _form(pattern), is_floating)


def _formatted(value: str, form: _Format, is_floating: bool) -> str:
    if value in _SPECIAL:
        return _SPECIAL[value]
    number = decimal.Decimal(value)
    if is_floating and -int(number.as_tuple().exponent) > form.most - form.shift:
        number = decimal.Decimal(float(value))
    number = number.scaleb(form.shift, _ALL_DIGITS)
    context = decimal.Context(prec=max(number.adjusted(), 0) + form.most + 2, rounding=decimal.ROUND_HALF_EVEN)
    digits = f"{context.quantize(abs(number), decimal.Decimal(1).scaleb(-form.most)):f}"
    whole, _, fraction = digits.partition(".")
    fraction = fraction.rstrip("0").ljust(form.least, "0")
    whole = whole.lstrip("0").rjust(form.whole, "0") or ("" if fraction else "0")
    if form.group:
        whole = _grouped(whole, form.group)
    sign = "-" if number.is_signed() and any(char in "123456789" for char in digits) else ""
    return f"{sign}{form.prefix}{whole}{'.' if fraction else ''}{fraction}{form.suffix}"


def _grouped(digits: str, size: int) -> str:
    """Return the digits with commas between groups, counted from the right."""
    first = len(digits) % size or size
    return ",".join((digits[:first], *(digits[at : at + size] for at in range(first, len(digits), size))))


def format_places(value: str, places: int, is_floating: bool) -> str | None:
    """Format a number with commas and `places` decimals, or return None if `places` is negative."""
    if places < 0:
        return None
    check_value("format_number", places)
    return _formatted(value, _Format("", "", 3, 1, places, places, 0), is_floating)

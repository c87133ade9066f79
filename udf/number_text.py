"""Kernels of numbers as text: exact DECIMAL arithmetic, Java's texts of DOUBLE and FLOAT, digits in other bases,
the patterns of format_number (java.text.DecimalFormat), to_char and to_number.
"""

from __future__ import annotations

import decimal
import math
import re
import struct
from functools import lru_cache

from sharkpy.base.errors import ExecutionError
from sharkpy.base.records import dataclass
from sharkpy.udf.value_limit import check_value

_CONTEXT = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)


def decimal_arithmetic(left: str, operator: str, right: str, precision: int, scale: int) -> str | None:
    """Compute `left operator right`, rounded to the scale. Return None if the result exceeds the precision, and for
    division by zero.
    """
    one, other = decimal.Decimal(left), decimal.Decimal(right)
    if operator in ("/", "%", "div") and not other:
        return None
    match operator:
        case "+":
            value = _CONTEXT.add(one, other)
        case "-":
            value = _CONTEXT.subtract(one, other)
        case "*":
            value = _CONTEXT.multiply(one, other)
        case "/":
            value = _CONTEXT.divide(one, other)
        case "div":
            value = _CONTEXT.divide_int(one, other)
        case _:
            value = _CONTEXT.remainder(one, other)
    digits = int(value.scaleb(scale, _CONTEXT).to_integral_value(decimal.ROUND_HALF_UP, _CONTEXT))
    return None if abs(digits) >= 10**precision else f"{decimal.Decimal(digits).scaleb(-scale, _CONTEXT):f}"


def java_double_text(value: float) -> str:
    """Double.toString: 1.0E10, 1.0E-5, NaN, Infinity."""
    return _java_text(value, repr(value))


def java_float_text(value: float) -> str:
    """Float.toString of a 32-bit value: the fewest digits that distinguish it from its neighbours."""
    if math.isnan(value) or value in (float("inf"), float("-inf")):
        return _java_text(value, repr(value))
    bits = struct.pack("f", value)
    text = next((f"{value:.{digits}g}" for digits in range(1, 10) if struct.pack("f", _fit(value, digits)) == bits), "")
    return _java_text(value, repr(float(text)))


def _fit(value: float, digits: int) -> float:
    return max(min(float(f"{value:.{digits}g}"), 3.4028234e38), -3.4028234e38)


def _java_text(value: float, text: str) -> str:
    if math.isnan(value):
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return text if "." in text else text + ".0"
    sign, digits, exponent = decimal.Decimal(text).normalize().as_tuple()
    figures = "".join(map(str, digits))
    power = len(figures) - 1 + int(exponent)
    return f"{'-' if sign else ''}{figures[0]}.{figures[1:] or '0'}E{power}"


def double_bits(value: float) -> int:
    return int.from_bytes(struct.pack(">d", value + 0.0), "big", signed=True)


def float_bits(value: float) -> int:
    return int.from_bytes(struct.pack(">f", value + 0.0), "big", signed=True)


_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_VALUES = {letter: value for digits in (_DIGITS, _DIGITS.lower()) for value, letter in enumerate(digits)}
"""Digits in either case. Letters of other scripts, and letters that become two in upper case, are excluded."""
_UNSIGNED = (1 << 64) - 1


def conv(text: str, source: int, target: int) -> str | None:
    """Convert the longest valid prefix, unsigned in 64 bits. A negative target base means signed output.

    A value of more than 64 bits becomes the greatest unsigned number, which is -1 if signed.
    """
    stripped = text.strip()
    if not (2 <= source <= 36 and 2 <= abs(target) <= 36) or not stripped:
        return None
    negative, value = stripped.startswith("-"), 0
    for char in stripped.removeprefix("-"):
        digit = _VALUES.get(char, source)
        if digit >= source:
            break
        value = min(value * source + digit, _UNSIGNED)
        if value == _UNSIGNED:
            break
    if negative and target > 0:
        value = _UNSIGNED if value >> 63 else -value & _UNSIGNED
    if target < 0 and value >> 63:
        value, negative = -value & _UNSIGNED, True
    return ("-" if negative and target < 0 and value else "") + _to_base(value, abs(target))


def _to_base(value: int, base: int) -> str:
    digits = ""
    while value:
        value, digit = divmod(value, base)
        digits = _DIGITS[digit] + digits
    return digits or "0"


_DECIMAL_FORMAT = re.compile(
    r"(?P<prefix>[^#0,.;E]*+)(?P<number>[#0,]*+(?:\.[#0]*+)?)(?P<suffix>[^#0,.;]*+)(?:;.*)?", re.DOTALL
)
_MOST_DECIMAL_FORMAT = 1000
"""Characters of a pattern: each is processed for every number, and patterns are cached."""
_ALL_DIGITS = decimal.Context(prec=1200)
_SPECIAL = {"NaN": "NaN", "Infinity": "∞", "-Infinity": "-∞"}


@dataclass(frozen=True, slots=True)
class _DecimalFormat:
    prefix: str
    suffix: str
    group: int
    whole: int
    least: int
    most: int
    shift: int


def _decimal_format(pattern: str) -> _DecimalFormat:
    if len(pattern) > _MOST_DECIMAL_FORMAT:
        raise ExecutionError(
            f"format_number: a pattern of {len(pattern)} characters",
            hint=f"at most {_MOST_DECIMAL_FORMAT}",
            sqlstate="22007",
        )
    return _parse_decimal_format(pattern)


@lru_cache(maxsize=256)
def _parse_decimal_format(pattern: str) -> _DecimalFormat:
    """Parse a pattern: the text around the digits, digits per group, the minimum of digits before and after the point,
    the maximum after it.
    """
    match = _DECIMAL_FORMAT.fullmatch(pattern)
    if match is None:
        raise ExecutionError(f'format_number: "{pattern}" is not a pattern of digits', sqlstate="22007")
    whole, _, fraction = match["number"].partition(".")
    _, comma, last = whole.rpartition(",")
    around = match["prefix"] + match["suffix"]
    has_zero = "0" in match["number"]
    return _DecimalFormat(
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
    return _formatted(value, _decimal_format(pattern), is_floating)


def _formatted(value: str, form: _DecimalFormat, is_floating: bool) -> str:
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
    return _formatted(value, _DecimalFormat("", "", 3, 1, places, places, 0), is_floating)


_TO_CHAR_PATTERN = re.compile(
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
    match = _TO_CHAR_PATTERN.fullmatch(text.upper())
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

"""Kernels of numbers: exact DECIMAL arithmetic, Java's texts of DOUBLE and FLOAT, digits in other bases."""

from __future__ import annotations

import decimal
import math
import struct

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

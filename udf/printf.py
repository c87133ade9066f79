"""java.util.Formatter over values given as text, with one letter per value for its kind.

Kinds: t s i l integers of 8 to 64 bits, f a floating number, n a DECIMAL, z a boolean, x any other.
"""

from __future__ import annotations

import decimal
import re
import sys
from collections.abc import Callable

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ExecutionError
from sharkpy.udf.text_codes import java_string_hash
from sharkpy.udf.value_limit import check_value

_SPECIFIER = re.compile(r"%(\d++\$|<)?([-#+ 0,(]*+)(\d++)?(?:\.(\d++))?([a-zA-Z%])", re.ASCII)
_MOST_DIGITS = 15
_BITS = {"t": 8, "s": 16, "i": 32, "l": 64}
_SPECIAL = {"NaN": "NaN", "Infinity": "Infinity", "-Infinity": "-Infinity"}


def printf(template: str, kinds: str, values: list[str | None]) -> str:
    """Replace the specifiers of the template. Raise an error if a value is missing or of the wrong kind."""
    position = -1
    last = 0
    made = len(template)

    def expand(match: re.Match[str]) -> str:
        nonlocal made
        made += max(map(_length, match.group(3, 4)))
        check_value("printf", made)
        text = specified(match)
        made += len(text)
        check_value("printf", made)
        return text

    def specified(match: re.Match[str]) -> str:
        nonlocal position, last
        check_cancelled()
        index, flags, width, precision, letter = match.groups()
        if letter in "n%":
            return _pad("\n" if letter == "n" else "%", flags, width)
        if index == "<":
            at = last
        elif index:
            at = _length(index[:-1]) - 1
        else:
            position += 1
            at = position
        if not 0 <= at < len(values):
            raise ExecutionError(f'printf: "{match.group()}" has no argument', sqlstate="22023")
        last = at
        places = None if precision is None else int(precision)
        return _convert(values[at], kinds[at], letter, flags, width, places)

    return _SPECIFIER.sub(expand, template)


def _length(digits: str | None) -> int:
    """Parse a width or precision. More digits than any possible result are cut to the smallest excessive number."""
    significant = (digits or "").lstrip("0")
    return int(significant[:_MOST_DIGITS] or 0)


def _convert(value: str | None, kind: str, letter: str, flags: str, width: str | None, places: int | None) -> str:
    conversion = _CONVERSIONS.get(letter.lower())
    if conversion is None:
        raise ExecutionError(f'printf: no conversion "%{letter}"', sqlstate="22023")
    if value is None and letter not in "bB":
        text = "null"[:places]
    else:
        takes, convert = conversion
        if kind not in takes and takes:
            raise ExecutionError(f'printf: "%{letter}" does not take {value}', sqlstate="22023")
        text = convert(value or "", kind, flags, places)
        if value is not None and letter.lower() in "dfeg" and "0" in flags and width and text not in _SPECIAL:
            sign = text[: len(text) - len(text.lstrip("+- ("))]
            text = sign + text[len(sign) :].rjust(int(width) - len(sign), "0")
    return _pad(text.upper() if letter.isupper() else text, flags, width)


def _pad(text: str, flags: str, width: str | None) -> str:
    if width is None:
        return text
    return text.ljust(int(width)) if "-" in flags else text.rjust(int(width))


def _signed(digits: str, is_negative: bool, flags: str) -> str:
    if is_negative:
        return f"({digits})" if "(" in flags else f"-{digits}"
    return ("+" if "+" in flags else " " if " " in flags else "") + digits


def _integer(value: str, _kind: str, flags: str, _places: int | None) -> str:
    number = int(value)
    return _signed(f"{abs(number):{',' if ',' in flags else ''}d}", number < 0, flags)


def _bits(letter: str, prefix: str) -> Callable[[str, str, str, int | None], str]:
    """Return a converter to octal or hexadecimal digits of the two's complement in the value's own width."""

    def convert(value: str, kind: str, flags: str, _places: int | None) -> str:
        digits = f"{int(value) % (1 << _BITS[kind]):{letter}}"
        return prefix + digits if "#" in flags else digits

    return convert


def _fixed(value: str, _kind: str, flags: str, places: int | None) -> str:
    if value in _SPECIAL:
        return _SPECIAL[value]
    number = decimal.Decimal(value)
    count = 6 if places is None else places
    context = decimal.Context(prec=max(number.adjusted(), 0) + count + 2, rounding=decimal.ROUND_HALF_UP)
    rounded = context.quantize(abs(number), decimal.Decimal(1).scaleb(-count))
    return _signed(f"{rounded:{',' if ',' in flags else ''}f}", number.is_signed(), flags)


def _exponent(value: str, _kind: str, flags: str, places: int | None) -> str:
    if value in _SPECIAL:
        return _SPECIAL[value]
    number = decimal.Decimal(value)
    mantissa, _, power = f"{abs(number) or 0:.{6 if places is None else places}e}".partition("e")
    return _signed(f"{mantissa}e{power[0]}{power[1:]:0>2}", number.is_signed(), flags)


def _general(value: str, kind: str, flags: str, places: int | None) -> str:
    """Format without exponent from 10^-4 to 10^precision, else with exponent. `places` counts significant digits."""
    if value in _SPECIAL:
        return _SPECIAL[value]
    digits = 6 if places is None else max(places, 1)
    number = abs(decimal.Decimal(value))
    rounded = decimal.Context(prec=digits, rounding=decimal.ROUND_HALF_UP).plus(number)
    if not rounded:
        return _fixed(value, kind, flags, digits - 1)
    if rounded < decimal.Decimal("0.0001") or rounded >= decimal.Decimal(10) ** digits:
        return _exponent(value, kind, flags, digits - 1)
    return _fixed(value, kind, flags, digits - 1 - rounded.adjusted())


def _character(value: str, kind: str, _flags: str, _places: int | None) -> str:
    if kind == "x":
        if len(value) != 1:
            raise ExecutionError(f'printf: "%c" does not take {value}', sqlstate="22023")
        return value
    number = int(value)
    if not 0 <= number <= sys.maxunicode:
        raise ExecutionError(f'printf: "%c" does not take {value}, which is not a code point', sqlstate="22023")
    return chr(number)


def _hash(value: str, kind: str, _flags: str, _places: int | None) -> str:
    number = int(value) if kind in _BITS else java_string_hash(value)
    return f"{number % (1 << 32):x}"


def _hexadecimal(value: str, _kind: str, _flags: str, _places: int | None) -> str:
    """Double.toHexString: no trailing zeros, no sign of a positive exponent."""
    if value in _SPECIAL:
        return _SPECIAL[value]
    mantissa, _, power = float(value).hex().partition("p")
    whole, _, fraction = mantissa.partition(".")
    return f"{whole}.{fraction.rstrip('0') or '0'}p{int(power)}"


def _text(value: str, _kind: str, _flags: str, places: int | None) -> str:
    return value if places is None else value[:places]


def _boolean(value: str, kind: str, _flags: str, places: int | None) -> str:
    """The boolean itself. For other kinds, whether there is a value."""
    return (value.lower() if kind == "z" else "true" if value else "false")[:places]


_CONVERSIONS: dict[str, tuple[str, Callable[[str, str, str, int | None], str]]] = {
    "d": ("tsil", _integer),
    "x": ("tsil", _bits("x", "0x")),
    "o": ("tsil", _bits("o", "0")),
    "f": ("fn", _fixed),
    "e": ("fn", _exponent),
    "g": ("fn", _general),
    "a": ("fn", _hexadecimal),
    "c": ("tsix", _character),
    "h": ("", _hash),
    "s": ("", _text),
    "b": ("", _boolean),
}
"""Letter -> the kinds that it accepts (empty: all) and its conversion."""

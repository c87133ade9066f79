"""Literals: numbers with Hive's types, dates, timestamps, intervals."""

from __future__ import annotations

import datetime
import re
from decimal import Context, Decimal

from sharkpy.base.errors import BindError
from sharkpy.base.parse_limits import MAX_DIGITS, shortened
from sharkpy.plan.expr import Literal
from sharkpy.sql.expressions.coercion import convert_exactly, minimal_decimal
from sharkpy.values.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL_DAY_TIME,
    INTERVAL_YEAR_MONTH,
    MAX_PRECISION,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    DecimalType,
)

_ALL_DIGITS = Context(prec=100)
_EXPONENT_DIGITS = 4
"""Maximum number of digits in an exponent for which a number may still have an exact type."""
_SUFFIXES: dict[str, DataType] = {
    "tinyint": TINYINT,
    "smallint": SMALLINT,
    "bigint": BIGINT,
    "y": TINYINT,
    "s": SMALLINT,
    "l": BIGINT,
}
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_MICROSECONDS = {
    "WEEK": 7 * 86_400_000_000,
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}
_YEAR_TO_MONTH = re.compile(r"([+-]?)(\d{1,38})-(\d{1,2})", re.ASCII)
_DAY_TO_SECOND = re.compile(r"([+-]?)(\d{1,38}) (\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(\.\d{1,9})?)?)?", re.ASCII)
_HOUR_TO_SECOND = re.compile(r"([+-]?)(\d{1,38}):(\d{1,2})(?::(\d{1,2})(\.\d{1,9})?)?", re.ASCII)
_WHOLE_AMOUNT = re.compile(r"[+-]?\d{1,38}", re.ASCII)
_AMOUNT = re.compile(r"[+-]?\d{1,38}(\.\d{1,38})?", re.ASCII)
_LIMITS = {INTERVAL_YEAR_MONTH: 1 << 31, INTERVAL_DAY_TIME: 1 << 63}
"""Types of intervals -> the first number of months or microseconds that is too large."""


def number_literal(text: str) -> Literal:
    """Return the literal of a number.

    `12` is INT, BIGINT or DECIMAL, by its size. `1.5` is DECIMAL(2,1), `1.5e0` is DOUBLE.
    """
    if "e" in text.lower():
        return Literal(float(text), DOUBLE)
    if "." not in text:
        _check_digits(text)
        return integer_literal(int(text))
    return _decimal_literal(text)


def _check_digits(text: str) -> None:
    """Refuse a number that no exact type can hold, before it is converted."""
    if len(text.lstrip("-0")) > 2 * MAX_DIGITS:
        raise _too_long(text)


def _too_long(text: str) -> BindError:
    return BindError(f"the number {shortened(text)} has more than {MAX_PRECISION} digits", sqlstate="22003")


def _decimal_literal(text: str) -> Literal:
    digits, _, exponent = text.lower().partition("e")
    _check_digits(digits)
    if len(exponent.lstrip("+-0")) > _EXPONENT_DIGITS:
        raise _too_long(text)
    literal = minimal_decimal(Decimal(text))
    _check_precision(literal, text)
    return literal


def integer_literal(value: int) -> Literal:
    if -(1 << 31) <= value < 1 << 31:
        return Literal(value, INT)
    if -(1 << 63) <= value < 1 << 63:
        return Literal(value, BIGINT)
    literal = minimal_decimal(value)
    _check_precision(literal, str(value))
    return literal


def _check_precision(literal: Literal, text: str) -> None:
    if isinstance(literal.dtype, DecimalType) and literal.dtype.precision > MAX_PRECISION:
        raise _too_long(text)


def suffixed_literal(text: str, suffix: str) -> Literal:
    """Return the literal of a number with a suffix: `1L 1S 1Y 1D 1F 1.5BD`.

    Raise BindError if the number does not fit its type.
    """
    match suffix:
        case "d" | "double":
            return Literal(float(text), DOUBLE)
        case "f" | "float":
            return Literal(float(text), FLOAT)
        case "bd" | "decimal":
            return _decimal_literal(text)
    dtype = _SUFFIXES[suffix]
    value = convert_exactly(_decimal_literal(text).value, DOUBLE, dtype)
    if value is None:
        raise BindError(f"the number {shortened(text)} is not a {dtype}", sqlstate="22003")
    return Literal(value, dtype)


def negated(literal: Literal) -> Literal | None:
    """Return the negated literal; None if it is not a number, or if the result does not fit."""
    match literal.value:
        case bool():
            return None
        case int() if literal.dtype in (INT, BIGINT):
            return integer_literal(-literal.value)
        case Decimal() if literal.dtype == DecimalType(19, 0) and -literal.value == -(1 << 63):
            return Literal(-(1 << 63), BIGINT)
        case Decimal():
            return Literal(_ALL_DIGITS.minus(literal.value), literal.dtype)
        case int() if (
            literal.dtype in (TINYINT, SMALLINT) and convert_exactly(-literal.value, INT, literal.dtype) is None
        ):
            return None
        case int() | float():
            return Literal(-literal.value, literal.dtype)
    return None


def date_literal(text: str) -> Literal:
    value = convert_exactly(text.strip(), STRING, DATE)
    if value is None:
        raise BindError(f"'{text}' is not a date (yyyy-mm-dd)", sqlstate="22007")
    return Literal(value, DATE)


def timestamp_literal(text: str) -> Literal:
    value = convert_exactly(text.strip().replace("T", " "), STRING, TIMESTAMP)
    if value is None:
        raise BindError(f"'{text}' is not a timestamp (yyyy-mm-dd hh:mm:ss[.ffffff])", sqlstate="22007")
    return Literal(value, TIMESTAMP)


def interval_literal(text: str, unit: str) -> Literal:
    """Return the literal of INTERVAL 'text' unit. Raise BindError if the text does not fit the unit."""
    text = text.strip()
    if not unit:
        return _interval_of_words(text)
    if unit in _MONTHS and _WHOLE_AMOUNT.fullmatch(text):
        return interval_of(int(text) * _MONTHS[unit], INTERVAL_YEAR_MONTH)
    if unit in _MICROSECONDS and _AMOUNT.fullmatch(text):
        return interval_of(int(_ALL_DIGITS.multiply(Decimal(text), _MICROSECONDS[unit])), INTERVAL_DAY_TIME)
    if unit == "YEAR TO MONTH" and (match := _YEAR_TO_MONTH.fullmatch(text)):
        sign, years, months = match.groups()
        return interval_of(_signed(sign, int(years) * 12 + int(months)), INTERVAL_YEAR_MONTH)
    if unit.startswith("DAY TO") and (match := _DAY_TO_SECOND.fullmatch(text)):
        sign, days, *clock = match.groups()
        return interval_of(_signed(sign, int(days) * _MICROSECONDS["DAY"] + _clock(clock)), INTERVAL_DAY_TIME)
    if unit.startswith("HOUR TO") and (match := _HOUR_TO_SECOND.fullmatch(text)):
        sign, *clock = match.groups()
        return interval_of(_signed(sign, _clock(clock)), INTERVAL_DAY_TIME)
    raise BindError(f"'{shortened(text)}' is not an interval of {unit.lower()}", sqlstate="22007")


def interval_of(amount: int, dtype: DataType) -> Literal:
    """Return an interval of `amount` months or microseconds. Raise BindError if it is too long."""
    if not -_LIMITS[dtype] <= amount < _LIMITS[dtype]:
        raise BindError(f"an interval of type {dtype} cannot be that long", sqlstate="22015")
    return Literal(amount, dtype)


def _interval_of_words(text: str) -> Literal:
    """Literal of INTERVAL '1 day -2 hours'."""
    words = text.upper().split()
    pairs = list(zip(words[::2], words[1::2], strict=False))
    units = [unit.removesuffix("S") for _, unit in pairs]
    if not pairs or len(words) % 2 or not all(unit in _MONTHS or unit in _MICROSECONDS for unit in units):
        raise BindError(f"'{shortened(text)}' is not an interval", sqlstate="22007", hint="write INTERVAL '1' DAY")
    parts = [interval_literal(value, unit) for (value, _), unit in zip(pairs, units, strict=True)]
    if len({part.dtype for part in parts}) > 1:
        raise BindError(f"'{shortened(text)}' mixes months with days or times", sqlstate="22007")
    return interval_of(sum(part.value for part in parts if isinstance(part.value, int)), parts[0].dtype)


def _signed(sign: str, amount: int) -> int:
    return -amount if sign == "-" else amount


def _clock(parts: list[str | None]) -> int:
    hours, minutes, seconds, fraction = parts
    microseconds = int(Decimal(fraction or 0) * 1_000_000)
    return ((int(hours or 0) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)) * 1_000_000 + microseconds


def shifted(moment: Literal, interval: Literal, sign: int) -> Literal | None:
    """Move a date or timestamp literal by an interval literal; None if the result is out of range.

    With whole days, a DATE stays a DATE, so that it can be compared with date columns directly.
    """
    start, amount = moment.value, interval.value
    if not isinstance(start, datetime.date) or not isinstance(amount, int):
        return None
    try:
        if interval.dtype == INTERVAL_YEAR_MONTH:
            return Literal(_add_months(start, sign * amount), moment.dtype)
        delta = datetime.timedelta(microseconds=sign * amount)
        if moment.dtype == DATE and amount % _MICROSECONDS["DAY"] == 0:
            return Literal(start + delta, DATE)
        at_midnight = (
            start if isinstance(start, datetime.datetime) else datetime.datetime(start.year, start.month, start.day)
        )
        return Literal(at_midnight + delta, TIMESTAMP)
    except (OverflowError, ValueError):
        return None


def _add_months(start: datetime.date, months: int) -> datetime.date:
    """Move `start` by months. The day is limited to the length of the new month."""
    index = start.year * 12 + start.month - 1 + months
    year, month = divmod(index, 12)
    first_of_next = datetime.date(year + (month == 11), (month + 1) % 12 + 1, 1)
    last_day = (first_of_next - datetime.timedelta(days=1)).day
    return start.replace(year=year, month=month + 1, day=min(start.day, last_day))

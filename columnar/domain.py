"""Domains: the representation in which values are compared and stored in statistics.

INTEGER holds booleans, integers, dates (days), timestamps (microseconds) and decimals (unscaled) as Python ints. FLOAT
holds floats. BYTES holds strings as UTF-8 and binaries, ordered by their bytes. Types without an order have no domain
(NONE).
"""

from __future__ import annotations

import datetime
import decimal
import enum
from decimal import Decimal
from fractions import Fraction

from sharkpy.values import types as t

DomainValue = int | float | bytes
MICROS_PER_DAY = 86_400_000_000
_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_MICROSECOND = datetime.timedelta(microseconds=1)


class Domain(enum.Enum):
    INTEGER = "integer"
    FLOAT = "float"
    BYTES = "bytes"
    NONE = "none"


def domain_of(dtype: t.DataType) -> Domain:
    if dtype in (t.FLOAT, t.DOUBLE):
        return Domain.FLOAT
    if t.is_string(dtype) or dtype == t.BINARY:
        return Domain.BYTES
    if t.is_nested(dtype) or dtype == t.NULL:
        return Domain.NONE
    return Domain.INTEGER


def scale_of(dtype: t.DataType) -> int:
    return dtype.scale if isinstance(dtype, t.DecimalType) else 0


def to_domain(value: object, dtype: t.DataType) -> DomainValue | Fraction | None:
    """Convert a Python value of the logical type to its domain, or return None if the domain cannot represent it.

    A number between two unscaled values of a DECIMAL or integer type becomes a Fraction.
    """
    match domain_of(dtype), value:
        case Domain.BYTES, str():
            return value.encode("utf-8", "surrogatepass")
        case Domain.BYTES, bytes() | bytearray() | memoryview():
            return bytes(value)
        case Domain.FLOAT, int() | float() | Decimal():
            return _exact_float(value)
        case Domain.INTEGER, datetime.datetime():
            return _micros(value) if dtype == t.TIMESTAMP else None
        case Domain.INTEGER, datetime.date() if dtype == t.DATE:
            return value.toordinal() - _EPOCH_DAY
        case Domain.INTEGER, int() | float() | Decimal() if dtype not in (t.DATE, t.TIMESTAMP):
            return _unscaled(value, scale_of(dtype))
    return None


def from_domain(value: DomainValue, dtype: t.DataType) -> object:
    """Convert a domain value to a Python value. Raise OverflowError if Python has none (years beyond 9999)."""
    match dtype:
        case t.BooleanType():
            return bool(value)
        case t.DateType():
            return _date(int(value))
        case t.TimestampType():
            return _EPOCH + datetime.timedelta(microseconds=int(value))
        case t.DecimalType(_, scale):
            with decimal.localcontext(prec=60):
                return Decimal(int(value)).scaleb(-scale)
    if isinstance(value, bytes) and t.is_string(dtype):
        return value.decode("utf-8", "surrogatepass")
    return value


def _date(days: int) -> datetime.date:
    try:
        return datetime.date.fromordinal(days + _EPOCH_DAY)
    except ValueError:
        raise OverflowError(f"day {days}") from None


def _micros(value: datetime.datetime) -> int | None:
    return None if value.tzinfo is not None else (value - _EPOCH) // _MICROSECOND


def _exact_float(value: int | float | Decimal) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if number == value else None


def _unscaled(value: int | float | Decimal, scale: int) -> int | Fraction | None:
    if isinstance(value, bool):
        value = int(value)
    try:
        number = Fraction(value) * 10**scale
    except (ValueError, OverflowError):
        return None
    return int(number) if number.denominator == 1 else number

"""Python values as HiveQL literals of their type."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sharkpy.base.errors import DataError, ParameterError, UnsupportedError
from sharkpy.values.types import MAX_PRECISION

_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"})
"""Escapes of characters. A quote gets a backslash: in HiveQL, 'a''b' is two adjacent strings."""
WRONG_PARAMETERS = "07001"
_NAMED_FLOATS = {math.inf: "Infinity", -math.inf: "-Infinity"}


def literal(value: object) -> str:
    """Return the literal of `value`, on one line. A negative number begins with its sign.

    A list, tuple or set becomes the right side of IN, in parentheses. Raise DataError if HiveQL has no equal value, or
    UnsupportedError if it has no such type.
    """
    value = plain(value)
    if value is None:
        return "NULL"
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    raise UnsupportedError(f"a parameter of type {type(value).__name__} has no HiveQL literal")


def plain(value: Any) -> Any:
    """Convert values of NumPy and pandas (scalars, arrays, series) to Python's own. Missing values become None."""
    kind = type(value)
    root = kind.__module__.split(".")[0]
    if root not in ("numpy", "pandas"):
        return value
    if kind.__name__ in ("NAType", "NaTType"):
        return None
    if root == "numpy" and value.dtype.kind in "mM":
        # Nanoseconds would become plain numbers.
        value = value.astype(f"{value.dtype.kind}8[us]")
    return value.tolist() if hasattr(value, "tolist") else value


def list_items(values: Any) -> str:
    """Return the literals for the right side of IN, without parentheses. Raise ParameterError if there are none."""
    if not values:
        raise ParameterError("the list of values for IN is empty: give at least one value", sqlstate=WRONG_PARAMETERS)
    return ", ".join(map(literal, values))


def string_literal(value: str) -> str:
    text = str.__str__(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError("a string with half of a surrogate pair is not valid text") from None
    return f"'{text.translate(_ESCAPES)}'"


def _float(value: float) -> str:
    if math.isfinite(value):
        text = float.__repr__(value)
        return text if "e" in text else f"{text}e0"
    return f"CAST('{_NAMED_FLOATS.get(value, 'NaN')}' AS DOUBLE)"


def _integer(value: int) -> str:
    if abs(value) >= 10**MAX_PRECISION:
        raise DataError(f"a whole number of more than {MAX_PRECISION} digits")
    return int.__repr__(value)


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise DataError(f"the decimal {value} is not a number that DECIMAL has")
    if abs(value.adjusted()) > MAX_PRECISION:
        raise DataError(f"the decimal {value} has more than {MAX_PRECISION} digits")
    text = format(value, "f")
    if sum(character.isdigit() for character in text.lstrip("-0.")) > MAX_PRECISION:
        raise DataError(f"the decimal {value} has more than {MAX_PRECISION} digits")
    return f"{text}BD"


def _timestamp(value: datetime.datetime) -> str:
    if value.tzinfo is not None:
        raise DataError("a datetime with a time zone: TIMESTAMP has none; convert it and take the zone away")
    return f"timestamp '{datetime.datetime.isoformat(value.replace(fold=0), ' ', 'microseconds')}'"


def _date(value: datetime.date) -> str:
    return f"date '{datetime.date.isoformat(value)}'"


def _interval(value: datetime.timedelta) -> str:
    microseconds = value // datetime.timedelta(microseconds=1)
    return f"INTERVAL '{Decimal(microseconds).scaleb(-6):f}' SECOND"


_WRITERS: tuple[tuple[type | tuple[type, ...], Callable[[Any], str]], ...] = (
    (bool, lambda value: "true" if value else "false"),
    (int, _integer),
    (float, _float),
    (Decimal, _decimal),
    (str, string_literal),
    ((bytes, bytearray, memoryview), lambda value: f"unhex('{bytes(value).hex()}')"),
    (datetime.datetime, _timestamp),
    (datetime.date, _date),
    (datetime.timedelta, _interval),
    ((list, tuple, set, frozenset), lambda values: f"({list_items(values)})"),
)
"""Writers by type. bool precedes int, and datetime precedes date, because they are subclasses of these."""

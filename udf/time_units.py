"""Units of time by name, and the functions that count them."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.types import BIGINT, STRING, TIMESTAMP, DataType
from sharkpy.udf.function import ScalarFunction
from sharkpy.udf.literals import string_value
from sharkpy.udf.signatures import Types, returns, takes

_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
UNITS = (*_MONTHS, *_MICROSECONDS)


def _add(args: Sequence[str], _types: Types, _result: DataType) -> str:
    unit = string_value(args[0]) or ""
    if unit in _MONTHS:
        return f"({args[2]} + to_months(CAST({args[1]} * {_MONTHS[unit]} AS INTEGER)))"
    return f"({args[2]} + to_microseconds({args[1]} * {_MICROSECONDS.get(unit, 0)}))"


def _difference(args: Sequence[str], _types: Types, _result: DataType) -> str:
    unit = string_value(args[0]) or ""
    if unit in _MONTHS:
        return f"(shark_whole_months({args[1]}, {args[2]}) // {_MONTHS[unit]})"
    return f"((epoch_us({args[2]}) - epoch_us({args[1]})) // {_MICROSECONDS.get(unit, 1)})"


TIME_UNIT_FUNCTIONS = (
    ScalarFunction(
        "timestampadd",
        takes(STRING, BIGINT, TIMESTAMP),
        returns(TIMESTAMP),
        _add,
        doc="a time so many units later",
        example="timestampadd('month', 1, '2024-01-31 10:00:00')",
    ),
    ScalarFunction(
        "timestampdiff",
        takes(STRING, TIMESTAMP, TIMESTAMP),
        returns(BIGINT),
        _difference,
        doc="whole units from the first time to the second",
        example="timestampdiff('hour', '2024-01-31 10:00:00', '2024-01-31 12:59:00')",
    ),
)

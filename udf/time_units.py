"""Units of time by name, and the functions that count them."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.function import ScalarFunction
from sharkpy.udf.literals import string_value
from sharkpy.udf.signatures import Types, returns, takes
from sharkpy.values.types import (
    BIGINT,
    INT,
    INTERVAL_DAY_TIME,
    INTERVAL_YEAR_MONTH,
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
)

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
        size, most, add = _MONTHS[unit], _MOST_MONTHS, "to_months(CAST({0} * {1} AS INTEGER))"
    else:
        size, most, add = _MICROSECONDS.get(unit, 1), _MOST_MICROS, "to_microseconds({0} * {1})"
    number = args[1]
    added = f"{args[2]} + {add.format(number, size)}"
    return f"CASE WHEN {number} BETWEEN -{most // size} AND {most // size} THEN {added} END"


def _difference(args: Sequence[str], _types: Types, _result: DataType) -> str:
    unit = string_value(args[0]) or ""
    if unit in _MONTHS:
        return f"(shark_whole_months({args[1]}, {args[2]}) // {_MONTHS[unit]})"
    return f"((epoch_us({args[2]}) - epoch_us({args[1]})) // {_MICROSECONDS.get(unit, 1)})"


_MOST_MONTHS, _MOST_MICROS = 3_000_000, 7_000_000_000_000_000_000
"""Limits on additions to a time: times beyond them are NULL."""
_SECONDS = DecimalType(18, 6)
_CLOCK = tuple(_MICROSECONDS[unit] for unit in ("day", "hour", "minute", "second"))


def _total(counts: Sequence[str], units: Sequence[int]) -> str:
    """Return the sum of counts of each unit."""
    return (
        " + ".join(f"CAST({count} AS DECIMAL(38,6)) * {unit}" for count, unit in zip(counts, units, strict=False))
        or "0"
    )


TIME_UNIT_FUNCTIONS = (
    ScalarFunction(
        "make_ym_interval",
        takes(INT, INT, optional=2),
        returns(INTERVAL_YEAR_MONTH),
        lambda args, _types, _result: f"TRY_CAST({_total(args, (12, 1))} AS INTEGER)",
        usage="make_ym_interval([years[, months]])",
        doc="an interval of years and months",
        example="make_ym_interval(1, 2)",
        answer="1-2",
    ),
    ScalarFunction(
        "make_dt_interval",
        takes(INT, INT, INT, _SECONDS, optional=4),
        returns(INTERVAL_DAY_TIME),
        lambda args, _types, _result: f"TRY_CAST({_total(args, _CLOCK)} AS BIGINT)",
        usage="make_dt_interval([days[, hours[, minutes[, seconds]]]])",
        doc="an interval of days, hours, minutes and seconds",
        example="make_dt_interval(1, 12, 30, 1.5)",
        answer="1 12:30:01.500000000",
    ),
    ScalarFunction(
        "timestampadd",
        takes(STRING, BIGINT, TIMESTAMP),
        returns(TIMESTAMP),
        _add,
        usage="timestampadd(unit, n, time)",
        doc="a time so many units later",
        example="timestampadd('month', 1, '2024-01-31 10:00:00')",
        answer="2024-02-29 10:00:00",
    ),
    ScalarFunction(
        "timestampdiff",
        takes(STRING, TIMESTAMP, TIMESTAMP),
        returns(BIGINT),
        _difference,
        usage="timestampdiff(unit, start, end)",
        doc="whole units from the first time to the second",
        example="timestampdiff('hour', '2024-01-31 10:00:00', '2024-01-31 12:59:00')",
        answer="2",
    ),
)

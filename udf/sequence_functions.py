"""sequence: integers, days or times at regular steps."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.function import ScalarFunction
from sharkpy.udf.signatures import (
    Types,
    first_of,
)
from sharkpy.udf.types_duckdb import duckdb_type
from sharkpy.values.types import (
    DATE,
    INTEGER_TYPES,
    INTERVAL_YEAR_MONTH,
    TIMESTAMP,
    ArrayType,
    DataType,
    is_interval,
)


def _time_sequence_arguments(types: Types) -> Types | None:
    """Two times of one kind and an interval. Without one, the step is a day."""
    if not 2 <= len(types) <= 3 or types[0] not in (DATE, TIMESTAMP) or types[1] not in (DATE, TIMESTAMP):
        return None
    kind = types[0] if types[0] == types[1] else TIMESTAMP
    return (kind, kind, *types[2:]) if all(map(is_interval, types[2:])) else None


def _time_sequence(args: Sequence[str], types: Types, result: DataType) -> str:
    first, last = (f"CAST({arg} AS TIMESTAMP)" for arg in args[:2])
    if len(args) == 2:
        step = f"to_days(CASE WHEN {args[0]} <= {args[1]} THEN 1 ELSE -1 END)"
        return f"CAST(generate_series({first}, {last}, {step}) AS {duckdb_type(result)})"
    if types[2] == INTERVAL_YEAR_MONTH:
        series = _months_series(first, last, args[2])
    else:
        series = f"generate_series({first}, {last}, to_microseconds({args[2]}))"
    return _towards(args, f"CAST({series} AS {duckdb_type(result)})")


def _months_series(first: str, last: str, months: str) -> str:
    """Times at whole months after the first: the 31st of January, the last of February, the 31st of March."""
    counts = f"range(abs(datediff('month', {first}, {last})) // abs({months}) + 1)"
    times = f"list_transform({counts}, lambda step: {first} + to_months(CAST(step * {months} AS INTEGER)))"
    return f"list_filter({times}, lambda time: CASE WHEN {months} > 0 THEN time <= {last} ELSE time >= {last} END)"


def _towards(args: Sequence[str], series: str) -> str:
    """Return the series, or an error if its step leads away from its end."""
    first, last, step = args
    away = f"({step} >= 0 AND {first} > {last}) OR ({step} <= 0 AND {first} < {last})"
    return (
        f"CASE WHEN {away} THEN error('sequence: its step does not lead from the start to the end') ELSE {series} END"
    )


def _sequence_arguments(types: Types) -> Types | None:
    return (
        [max(types, key=INTEGER_TYPES.index)] * len(types)
        if 2 <= len(types) <= 3 and all(dtype in INTEGER_TYPES for dtype in types)
        else None
    )


def _sequence(args: Sequence[str], types: Types, result: DataType) -> str:
    if types[0] in (DATE, TIMESTAMP):
        return _time_sequence(args, types, result)
    if len(args) == 3:
        by_step = f"CASE WHEN {args[2]} = 0 THEN [{args[0]}] ELSE generate_series({args[0]}, {args[1]}, {args[2]}) END"
        return _towards(args, f"CAST({by_step} AS {duckdb_type(result)})")
    step = f"CASE WHEN {args[0]} <= {args[1]} THEN 1 ELSE -1 END"
    return f"CAST(generate_series({args[0]}, {args[1]}, {step}) AS {duckdb_type(result)})"


SEQUENCE_FUNCTIONS = (
    ScalarFunction(
        "sequence",
        first_of(_sequence_arguments, _time_sequence_arguments),
        lambda types: ArrayType(types[0]),
        _sequence,
        usage="sequence(start, end[, step])",
        doc="integers, days or times from one to another",
        example="sequence(1, 3)",
        answer="[1,2,3]",
    ),
)

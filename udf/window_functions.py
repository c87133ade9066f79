"""Pure window functions. Lowerings mark the places of NULLS (for IGNORE NULLS) and OVER; see udf.lower."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.duckdb_sql import duckdb_type
from sharkpy.udf.function import Lowering, WindowFunction
from sharkpy.udf.lower import NULLS, OVER
from sharkpy.udf.signatures import Types, converts, returns, same_as, takes
from sharkpy.values.common_types import common_type
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE, INT, DataType


def _rank(name: str, result: DataType, *, doc: str, answer: str) -> WindowFunction:
    def lower(_args: Sequence[str], _types: Types, wanted: DataType) -> str:
        return f"CAST({name}(){OVER} AS {duckdb_type(wanted)})"

    return WindowFunction(
        name,
        takes(),
        returns(result),
        lower,
        usage=f"{name}()",
        doc=doc,
        example=f"{name}()",
        answer=answer,
    )


def _shift_arguments(types: Types) -> Types | None:
    """A value, a number of rows, a default."""
    if not 1 <= len(types) <= 3 or (len(types) > 1 and not converts(types[1], BIGINT)):
        return None
    if len(types) < 3:
        return (types[0], BIGINT)[: len(types)]
    target = common_type(types[0], types[2])
    return None if target is None else (target, BIGINT, target)


def _shift(name: str) -> Lowering:
    return lambda args, _types, _result: f"{name}({', '.join(args)}{NULLS}){OVER}"


def _edge_arguments(types: Types) -> Types | None:
    """A value, and whether NULLs are skipped."""
    return types if len(types) == 1 or (len(types) == 2 and types[1] == BOOLEAN) else None


def _edge(name: str) -> Lowering:
    def lower(args: Sequence[str], _types: Types, _result: DataType) -> str:
        nulls = " IGNORE NULLS" if len(args) == 2 and args[1] == "true" else NULLS
        return f"{name}({args[0]}{nulls}){OVER}"

    return lower


WINDOW_FUNCTIONS = (
    _rank(
        "row_number",
        INT,
        doc="number of the row, from 1",
        answer="1\n2",
    ),
    _rank("rank", INT, doc="rank with gaps after ties", answer="1\n2"),
    _rank("dense_rank", INT, doc="rank without gaps", answer="1\n2"),
    _rank(
        "percent_rank",
        DOUBLE,
        doc="(rank - 1) / (rows - 1)",
        answer="0.0\n1.0",
    ),
    _rank(
        "cume_dist",
        DOUBLE,
        doc="share of rows up to this one",
        answer="0.5\n1.0",
    ),
    WindowFunction(
        "ntile",
        takes(INT),
        returns(INT),
        f"CAST(ntile({{0}}){OVER} AS INTEGER)",
        usage="ntile(n)",
        doc="number of the bucket of so many equal ones",
        example="ntile(2)",
        answer="1\n2",
    ),
    WindowFunction(
        "lead",
        _shift_arguments,
        same_as(0),
        _shift("lead"),
        usage="lead(x[, offset[, default]])",
        doc="a later row's value",
        example="lead(x)",
        answer="3\nNULL",
    ),
    WindowFunction(
        "lag",
        _shift_arguments,
        same_as(0),
        _shift("lag"),
        usage="lag(x[, offset[, default]])",
        doc="an earlier row's value",
        example="lag(x)",
        answer="NULL\n1",
    ),
    WindowFunction(
        "first_value",
        _edge_arguments,
        same_as(0),
        _edge("first_value"),
        takes_frame=True,
        usage="first_value(x)",
        doc="the first value of the frame",
        example="first_value(x)",
        answer="1\n1",
    ),
    WindowFunction(
        "last_value",
        _edge_arguments,
        same_as(0),
        _edge("last_value"),
        takes_frame=True,
        usage="last_value(x)",
        doc="the last value of the frame",
        example="last_value(x)",
        answer="1\n3",
    ),
    WindowFunction(
        "nth_value",
        lambda types: (types[0], BIGINT) if len(types) == 2 and converts(types[1], BIGINT) else None,
        same_as(0),
        f"nth_value({{0}}, {{1}}{NULLS}){OVER}",
        takes_frame=True,
        usage="nth_value(x, n)",
        doc="the value of a row of the frame, by number",
        example="nth_value(x, 2)",
        answer="NULL\n3",
    ),
)

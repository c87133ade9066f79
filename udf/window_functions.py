"""Pure window functions. Lowerings mark the places of NULLS (for IGNORE NULLS) and OVER; see udf.lower."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.duckdb_sql import duckdb_type
from sharkpy.udf.function import Lowering, WindowFunction
from sharkpy.udf.lower import NULLS, OVER
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, converts, same_as
from sharkpy.values.common_types import common_type
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE, INT, DataType


def _rank(name: str, result: DataType, *, doc: str, answer: str) -> WindowFunction:
    def lower(_args: Sequence[str], _types: Types, wanted: DataType) -> str:
        return f"CAST({name}(){OVER} AS {duckdb_type(wanted)})"

    return Page(f"{name}()", doc, f"{name}() -> {answer}").window((), result, lower)


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
    _rank("row_number", INT, doc="number of the row, from 1", answer="1\n2"),
    _rank("rank", INT, doc="rank with gaps after ties", answer="1\n2"),
    _rank("dense_rank", INT, doc="rank without gaps", answer="1\n2"),
    _rank("percent_rank", DOUBLE, doc="(rank - 1) / (rows - 1)", answer="0.0\n1.0"),
    _rank("cume_dist", DOUBLE, doc="share of rows up to this one", answer="0.5\n1.0"),
    Page("ntile(n)", "number of the bucket of so many equal ones", "ntile(2) -> 1\n2").window(
        (INT,), INT, f"CAST(ntile({{0}}){OVER} AS INTEGER)"
    ),
    Page("lead(x[, offset[, default]])", "a later row's value", "lead(x) -> 3\nNULL").window(
        _shift_arguments, same_as(0), _shift("lead")
    ),
    Page("lag(x[, offset[, default]])", "an earlier row's value", "lag(x) -> NULL\n1").window(
        _shift_arguments, same_as(0), _shift("lag")
    ),
    Page("first_value(x)", "the first value of the frame", "first_value(x) -> 1\n1").window(
        _edge_arguments, same_as(0), _edge("first_value"), takes_frame=True
    ),
    Page("last_value(x)", "the last value of the frame", "last_value(x) -> 1\n3").window(
        _edge_arguments, same_as(0), _edge("last_value"), takes_frame=True
    ),
    Page("nth_value(x, n)", "the value of a row of the frame, by number", "nth_value(x, 2) -> NULL\n3").window(
        lambda types: (types[0], BIGINT) if len(types) == 2 and converts(types[1], BIGINT) else None,
        same_as(0),
        f"nth_value({{0}}, {{1}}{NULLS}){OVER}",
        takes_frame=True,
    ),
)

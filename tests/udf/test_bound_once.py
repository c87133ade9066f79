"""Arguments that a call repeats are computed once if they are long, and mean the same."""

from __future__ import annotations

import duckdb
import pytest

from sharkpy.udf import lower, registry
from sharkpy.udf.casts import lower_cast
from sharkpy.udf.lower import lower_scalar
from sharkpy.values.types import BOOLEAN, DOUBLE, INT, STRING, DataType

_VALUES = "(VALUES (CAST(1 AS INTEGER)), (2), (7), (NULL)) AS t(c)"


def _nested(function: str, levels: int, *others: str, dtype: DataType = INT) -> str:
    row = registry.scalar(function)
    assert row is not None
    sql = "c"
    for _ in range(levels):
        args = [sql, *others]
        sql = lower_scalar(row, args, [dtype] * len(args), row.result([dtype] * len(args)))
        if row.result([dtype] * len(args)) == BOOLEAN:
            sql = lower_cast(sql, BOOLEAN, dtype)
    return sql


_CALLS = [("between", "1", "2"), ("in", "1", "2"), ("nullif", "2"), ("add", "1"), ("abs",), ("pmod", "5"), ("div", "2")]


@pytest.mark.parametrize("call", _CALLS, ids=[call[0] for call in _CALLS])
def test_values_are_those_of_the_plain_text(
    connection: duckdb.DuckDBPyConnection, call: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    function, *others = call
    shared = [_nested(function, levels, *others) for levels in range(6)]
    monkeypatch.setattr(lower, "_SHORT_CALL", 1 << 30)
    plain = [_nested(function, levels, *others) for levels in range(6)]
    for one, other in zip(shared, plain, strict=True):
        assert connection.sql(f"SELECT {one} FROM {_VALUES}").fetchall() == (
            connection.sql(f"SELECT {other} FROM {_VALUES}").fetchall()
        )


@pytest.mark.parametrize("call", _CALLS, ids=[call[0] for call in _CALLS])
def test_the_text_grows_with_the_number_of_levels(call: tuple[str, ...]) -> None:
    function, *others = call
    ten, twenty, forty = (len(_nested(function, levels, *others)) for levels in (10, 20, 40))
    assert forty - twenty < 4 * (twenty - ten) + 4_000


def test_casts_within_casts_are_computed_once(connection: duckdb.DuckDBPyConnection) -> None:
    sql = "c"
    for _ in range(30):
        sql = lower_cast(lower_cast(lower_cast(sql, INT, STRING), STRING, DOUBLE), DOUBLE, INT)
    assert connection.sql(f"SELECT {sql} FROM {_VALUES}").fetchall() == [(1,), (2,), (7,), (None,)]
    assert len(sql) < 100_000


@pytest.mark.parametrize("function", ["divide", "add", "concat"])
def test_chains_that_copy_nothing_stay_plain(function: str) -> None:
    """Neither side of a / b / c is copied, though each level has a nullif: a list for each row would cost more."""
    assert "list_transform" not in _nested(function, 8, "d", dtype=DOUBLE if function == "divide" else STRING)


def test_short_calls_are_as_they_were() -> None:
    assert _nested("between", 2, "1", "2").count("list_transform") == 0

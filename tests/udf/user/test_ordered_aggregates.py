"""Aggregates without merge: rows of a group come in the order of the arguments."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

import sharkpy
from sharkpy.base.errors import BindError, ExecutionError
from tests.rows import rows

ROWS = "VALUES (1, 3, 'c'), (1, 1, 'a'), (2, 9, 'z'), (1, 2, NULL), (2, 8, 'y') AS t(k, n, s)"


class Way:
    """The texts that came, one after the other."""

    def init(self) -> list[str]:
        return []

    def update(self, state: list[str], n: int, s: str | None) -> list[str]:
        return [*state, f"{n}{s}"]

    def finish(self, state: list[str]) -> str:
        return "".join(state)


class Sum:
    def init(self) -> int:
        return 0

    def update_batch(self, state: int, times: Any, x: Any) -> int:
        return state + int(x.sum())

    def finish(self, state: int) -> int:
        return state


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    way = sharkpy.aggregate("int", "string", returns="string")(Way)
    context.register_function("way", way)
    context.register_function("way_of_all", sharkpy.aggregate("int", "string", returns="string", null="call")(Way))
    context.register_function(
        "way_typed", sharkpy.aggregate("int", "string", returns="string", state="array<string>")(Way)
    )
    return context


def test_rows_come_in_order(context: sharkpy.SharkContext) -> None:
    assert rows(context, f"SELECT k, way(n, s) FROM {ROWS} GROUP BY k ORDER BY k") == [(1, "1a3c"), (2, "8y9z")]
    assert rows(context, f"SELECT way_of_all(n, s) FROM {ROWS} WHERE k = 1") == [("1a2None3c",)]
    assert rows(context, f"SELECT way_typed(DISTINCT 1, s) FROM {ROWS} WHERE n > 2") == [("1c1y1z",)]
    assert rows(context, f"SELECT way(n, s) FILTER (WHERE k = 2), count(*) FROM {ROWS}") == [("8y9z", 5)]
    assert rows(context, f"SELECT way(n, s) FROM {ROWS} WHERE k = 7") == [("",)]
    over = f"SELECT n, way(n, s) OVER (PARTITION BY k) FROM {ROWS} ORDER BY n"
    assert rows(context, over) == [(1, "1a3c"), (2, "1a3c"), (3, "1a3c"), (8, "8y9z"), (9, "8y9z")]


def test_many_rows_in_tasks(context: sharkpy.SharkContext) -> None:
    context.sql("SET shark.placement.driver = false")
    text = (
        "SELECT k, way(CAST(id AS INT), '.') FROM (SELECT id, id % 3 AS k FROM range(0, 3000)) t GROUP BY k ORDER BY k"
    )
    found = rows(context, text)
    assert found == [(k, "".join(f"{n}." for n in range(k, 3000, 3))) for k in range(3)]


def test_a_timeout_begins_a_new_state(context: sharkpy.SharkContext) -> None:
    context.register_function(
        "visits", sharkpy.aggregate("timestamp", "int", returns="bigint", timeout="1 minute")(Sum)
    )
    times = "VALUES ('10:00:00', 1), ('10:00:50', 2), ('10:05:00', 4), ('10:06:00', 8), (NULL, 16) AS t(clock, x)"
    text = f"SELECT visits(CAST(concat('2026-05-01 ', clock) AS TIMESTAMP), x) FROM {times} WHERE x < "
    assert [rows(context, f"{text}{most}") for most in (1, 2, 4, 8, 100)] == [[(0,)], [(1,)], [(3,)], [(4,)], [(12,)]]
    described = rows(context, "DESCRIBE FUNCTION EXTENDED visits")
    assert ("Python aggregate, all rows of a group at once in the order of its arguments, pickled states",) in described


@pytest.mark.parametrize("timeout", ["a minute", "0 s", "5 parsecs", datetime.timedelta(0)])
def test_lengths_that_are_none(context: sharkpy.SharkContext, timeout: Any) -> None:
    declared = sharkpy.aggregate("timestamp", "int", returns="bigint", timeout=timeout)(Sum)
    with pytest.raises(BindError, match="is not a length of time"):
        context.register_function("f", declared)


def test_timeouts_need_a_time(context: sharkpy.SharkContext) -> None:
    with pytest.raises(BindError, match="whose first argument is a TIMESTAMP"):
        context.register_function("f", sharkpy.aggregate("int", "int", returns="bigint", timeout="1 s")(Sum))


def test_errors_name_the_line(context: sharkpy.SharkContext) -> None:
    class Broken(Way):
        def update(self, state: list[str], n: int, s: str | None) -> list[str]:
            raise ValueError("no")

    context.register_function("broken", sharkpy.aggregate("int", "string", returns="string")(Broken))
    with pytest.raises(ExecutionError, match=r'function "broken" raised ValueError: no \(.*ordered_aggregates'):
        rows(context, f"SELECT broken(n, s) FROM {ROWS}")

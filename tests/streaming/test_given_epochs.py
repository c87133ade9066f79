"""Epochs of inserts and sinks with state that follow each other: they keep what was bound, planned and lowered, their
state is folded, targets are in memory, and others change something between two of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sharkpy
from sharkpy.base.errors import TableNotFoundError
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.continuous_query import QueryState
from sharkpy.catalog.model import Table
from sharkpy.execution.tables import snapshot, table_repair
from sharkpy.execution.tables.data_files import table_files
from sharkpy.physical import stage_cache
from sharkpy.physical.lowering import lower_stage
from sharkpy.streaming import kill_points, scheduler
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import put
from tests.streaming.test_given_states import (
    APPENDED,
    STATE,
    UNBOUNDED,
    event,
    in_order,
    put_epoch,
    table_for,
    with_streams,
)


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with with_streams(tmp_path) as context:
        yield context


@pytest.fixture(autouse=True)
def each_look_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "_SHARED_SECONDS", 0.0)


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Labels of the plans that were lowered, without the plans of checks."""
    found: list[str] = []
    original = lower_stage.lower_fragment

    def lower(fragment: Any, *rest: Any) -> Any:
        found.append(fragment.label)
        return original(fragment, *rest)

    monkeypatch.setattr(lower_stage, "lower_fragment", lower)
    monkeypatch.setattr(stage_cache, "lower_fragment", lower)
    monkeypatch.setattr(stage_cache, "check_stage", lambda *_: None)
    return found


def begin(context: sharkpy.SharkContext, what: str, name: str, rest: str) -> None:
    """Make a continuous query that only `step` runs."""
    context.sql(f"CREATE CONTINUOUS {what} {name} {rest}")
    keep_running(context, name)


def keep_running(context: sharkpy.SharkContext, name: str) -> None:
    with context.catalog.transaction():
        context.catalog.streams.set_state(_query_id(context, name), QueryState.RUNNING)


def step(context: sharkpy.SharkContext, name: str) -> None:
    """Look after a query once, by the runner that it has."""
    with context.streams._queries.between_epochs(_query_id(context, name)) as scheduled:
        context.streams._step(_query_id(context, name), scheduled)


def _query_id(context: sharkpy.SharkContext, name: str) -> str:
    return context.catalog.table("default", name).continuous


@pytest.mark.variants
@pytest.mark.parametrize(
    "kind", ["tumbling", "sessions", "of rows", "windows of joined", "full", "around", "running", "next"]
)
def test_they_give_what_a_table_has(context: sharkpy.SharkContext, tmp_path: Path, kind: str) -> None:
    query = APPENDED[kind]
    table_for(context, query, properties=MEMORY)
    clauses = f"{NOW} EMIT APPEND {STATE if kind in UNBOUNDED else ''}"
    begin(context, "TABLE", "t", f"{MEMORY} {clauses} AS {query}")
    begin(context, "INSERT", "i", f"{clauses} AS INSERT INTO got {query}")
    for number in range(14):
        put_epoch(tmp_path, number)
        for name in ("t", "i"):
            step(context, name)
        assert in_order(rows(context, "SELECT * FROM got")) == in_order(rows(context, "SELECT * FROM t"))
    assert len(rows(context, "SELECT * FROM got")) > 3


def test_they_are_lowered_no_more(context: sharkpy.SharkContext, folder: Path, lowered: list[str]) -> None:
    query = APPENDED["tumbling"]
    table_for(context, query)
    begin(context, "INSERT", "i", f"{NOW} AS INSERT INTO got {query}")
    counts = []
    for number in range(14):
        put(folder, f"{number}.json", [event(number, number * 10)])
        lowered.clear()
        step(context, "i")
        counts.append(len(lowered))
    assert counts[0] > 0
    assert counts[6:].count(0) > 4, counts
    assert len(rows(context, "SELECT * FROM got")) == 12


def test_they_look_at_new_files_alone(
    context: sharkpy.SharkContext, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier files of a stream are not listed, though an epoch adds rows to a state as blocks that can be lost."""
    query = APPENDED["tumbling"]
    table_for(context, query)
    begin(context, "INSERT", "i", f"{NOW} AS INSERT INTO got {query}")

    def files(table: Table, *rest: Any) -> Any:
        assert not table.is_stream
        return table_files(table, *rest)

    monkeypatch.setattr(table_repair, "table_files", files)
    monkeypatch.setattr(snapshot, "table_files", files)
    for number in range(3):
        put(folder, f"{number}.json", [event(number, number * 10)])
        step(context, "i")
    assert len(rows(context, "SELECT * FROM got")) == 1


def test_a_table_that_they_join_changes(context: sharkpy.SharkContext, folder: Path) -> None:
    """Its rows change, then its columns, then another table gets the name. Each epoch reads the current table."""
    made = f"CREATE TABLE names (k STRING, name STRING) {MEMORY}"
    context.sql(made)
    context.sql("INSERT INTO names VALUES ('a', 'one')")
    query = "SELECT name, count(*) AS n FROM events e JOIN names ON e.k = names.k GROUP BY name"
    found: list[list[tuple[object, ...]]] = []

    def take(_epoch: int, given: pa.Table) -> None:
        found.append(sorted(tuple(row.values()) for row in given.to_pylist()))

    context.sql(f"CREATE CONTINUOUS SINK s TO PROGRAM {NOW} EMIT UPDATE {STATE} AS {query}")
    context.foreach_batch("s", take)
    keep_running(context, "s")
    for number, change in enumerate(
        (
            "",
            "INSERT INTO names VALUES ('b', 'two')",
            "ALTER TABLE names ADD COLUMNS (more INT)",
            f"DROP TABLE names; {made}; INSERT INTO names VALUES ('a', 'uno')",
            "TRUNCATE TABLE names",
            "INSERT INTO names VALUES ('a', 'one'), ('b', 'one')",
        )
    ):
        if change:
            context.sql(change)
        put(folder, f"{number}.json", [event(number, number, key) for key in "ab"])
        step(context, "s")
    assert found == [
        [("one", 1)],
        [("one", 2), ("two", 1)],
        [("one", 3), ("two", 2)],
        [("uno", 1)],
        [],
        [("one", 5)],
    ]


def test_they_go_on_under_another_name(context: sharkpy.SharkContext, folder: Path) -> None:
    query = APPENDED["tumbling"]
    table_for(context, query)
    begin(context, "INSERT", "i", f"{NOW} LATE ROWS TO late AS INSERT INTO got {query}")
    for number, name in enumerate(("i", "i", "j")):
        if name == "j":
            context.sql("ALTER TABLE i RENAME TO j")
        put(folder, f"{number}.json", [event(number, number * 20)])
        step(context, name)
    assert len(rows(context, "SELECT * FROM got")) == 2
    context.sql("DROP TABLE late")
    put(folder, "3.json", [event(3, 60)])
    with pytest.raises(TableNotFoundError, match="late rows was dropped"):
        step(context, "j")
    assert len(rows(context, "SELECT * FROM got")) == 2


@pytest.mark.variants(2)
@pytest.mark.parametrize("at", [kill_points.BEGUN, kill_points.STAGED])
def test_an_insert_is_dropped_meanwhile(
    context: sharkpy.SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    query = APPENDED["tumbling"]
    table_for(context, query, properties=MEMORY)
    begin(context, "INSERT", "i", f"{NOW} AS INSERT INTO got {query}")
    for number in range(2):
        put(tmp_path / "in", f"{number}.json", [event(number, number * 20)])
        step(context, "i")
    before = rows(context, "SELECT * FROM got")
    put(tmp_path / "in", "2.json", [event(2, 60)])
    with closing(Catalog(tmp_path / "w")) as other:

        def hook(done: str) -> None:
            if done == at:
                monkeypatch.setattr(kill_points, "observer", None)
                other.drop_table(other.table("default", "i"))

        monkeypatch.setattr(kill_points, "observer", hook)
        with pytest.raises(TableNotFoundError):
            step(context, "i")
    assert rows(context, "SELECT * FROM got") == before
    assert len(before) == 1

"""Watermarks of states in memory come from the statistics of blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy
from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.catalog.model import Table
from sharkpy.execution.queries.plan_query import plan_query
from sharkpy.physical.operators import BlockScan, FileScan
from sharkpy.plan.commands import Insert
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.binder import bind, bind_epoch, bind_state_progress, bind_state_watermark
from sharkpy.sql.statements.bind_epoch import EpochTables
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import put

FEW = {"shark.stream.kept.epochs": 2, "shark.compaction.min.blocks": 3}
WINDOWS = "SELECT k, window.start AS start, count(*) AS c FROM events GROUP BY k, window(ts, '10 seconds')"
PASSED = "SELECT k, n, sum(n) OVER (PARTITION BY k ORDER BY ts) AS total FROM events"


pytestmark = pytest.mark.settings(FEW)


@pytest.fixture
def context(context: sharkpy.SharkContext, folder: Path) -> sharkpy.SharkContext:
    columns = "k INT, n INT, ts TIMESTAMP, WATERMARK FOR ts AS ts"
    context.sql(f"CREATE STREAM events ({columns}) STORED AS JSON FROM FOLDER '{folder}'")
    return context


def epochs(context: sharkpy.SharkContext, folder: Path, number: int) -> None:
    """Write epochs of a row for each second, and one without a time."""
    for second in range(number):
        row = {"k": second % 2, "n": second, "ts": f"2024-05-01 10:00:{second:02}"}
        put(folder, f"{second:03}", [row, {"k": 0, "n": 100}])
        context.sql("RESUME CONTINUOUS TABLE t")


def parts_of(context: sharkpy.SharkContext) -> tuple[ContinuousQuery, Table]:
    """The query of the table, and its state."""
    state = context.catalog.state_table(context.catalog.table("default", "t"))
    assert state is not None
    return context.catalog.streams.get(state.continuous), state


def scans(context: sharkpy.SharkContext, plan: LogicalPlan) -> list[str]:
    """Tables that a plan reads, once for each scan."""
    found = plan_query(context, plan).root.walk()
    return [node.table_name for node in found if isinstance(node, (BlockScan, FileScan))]


def epoch_of(context: sharkpy.SharkContext) -> LogicalPlan:
    query, state = parts_of(context)
    tables = EpochTables(state, context.catalog.table("default", "t"))
    command = bind_epoch(query.text, tables, context.catalog, context.conf, query.database)
    assert isinstance(command, Insert)
    return command.query


@pytest.mark.slow
def test_windows_are_closed_without_a_scan(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {MEMORY} {NOW} EMIT APPEND AS {WINDOWS}")
    epochs(context, folder, 25)
    query, state = parts_of(context)
    bound = (query.text, state, context.catalog, context.conf, query.database)
    assert scans(context, bind_state_watermark(*bound)) == []
    # The number of late rows is counted.
    assert scans(context, bind_state_progress(*bound)) == [state.qualified_name]
    assert set(scans(context, epoch_of(context))) == {"default.events"}
    reader = bind("SELECT * FROM t", context.catalog, context.conf, query.database)
    assert isinstance(reader, LogicalPlan)
    assert scans(context, reader) == [state.qualified_name]
    closed = [(k, f"2024-05-01 10:00:{start}", 5) for start in ("00", "10") for k in (0, 1)]
    found = rows(context, "SELECT k, CAST(start AS STRING), c FROM t ORDER BY start, k")
    assert found == closed


@pytest.mark.slow
def test_rows_are_passed_with_a_scan_of_those_that_wait(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {MEMORY} {NOW} EMIT APPEND WITH UNBOUNDED STATE AS {PASSED}")
    epochs(context, folder, 20)
    _, state = parts_of(context)
    assert set(scans(context, epoch_of(context))) == {"default.events", state.qualified_name}
    totals, expected = [0, 0], list[tuple[object, ...]]()
    for second in range(19):
        totals[second % 2] += second
        expected.append((second % 2, second, totals[second % 2]))
    assert sorted(rows(context, "SELECT k, n, total FROM t")) == sorted(expected)


@pytest.mark.variants(2)
@pytest.mark.parametrize("clauses", ["", MEMORY])
def test_a_state_without_rows_has_no_watermark(context: sharkpy.SharkContext, folder: Path, clauses: str) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} {NOW} EMIT APPEND AS {WINDOWS}")
    assert rows(context, "SELECT * FROM t") == []
    put(folder, "none", [{"k": 0, "n": 1}])
    context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, "SELECT * FROM t") == []
    facts = {row[0]: row[1] for row in rows(context, "DESCRIBE EXTENDED t")}
    assert facts["Watermark of default.events"] == "no time has come"

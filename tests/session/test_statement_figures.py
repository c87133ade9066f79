"""Figures of statements: rows, bytes and blocks read, CPU time, planning, memory and spilled bytes."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import ConfigurationError, SharkError
from sharkpy.catalog.statement_records import StatementRecord
from sharkpy.execution.statement import Statement
from sharkpy.execution.statement_figures import ProcessCpu

BLOCKS = 8
ROWS = 1000


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql("CREATE TABLE files AS SELECT explode(sequence(1, 8000)) AS k")
    context.sql(f"SET shark.block.rows = {ROWS}")
    context.sql("CREATE TABLE blocks TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT k, k % 7 AS g FROM files")
    return context


def record_of(context: sharkpy.SharkContext, text: str) -> StatementRecord:
    context.sql(text).fetchall()
    return context.history(1)[0]


def test_blocks_and_rows_of_a_cached_table(context: sharkpy.SharkContext) -> None:
    whole = record_of(context, "SELECT sum(k), sum(g) FROM blocks")
    assert (whole.input_rows, whole.blocks_read, whole.blocks_pruned) == (BLOCKS * ROWS, BLOCKS, 0)
    one_column = record_of(context, "SELECT sum(g) FROM blocks")
    assert 0 < (one_column.bytes_read or 0) < (whole.bytes_read or 0)
    pruned = record_of(context, "SELECT sum(k) FROM blocks WHERE k <= 2500")
    assert (pruned.input_rows, pruned.blocks_read, pruned.blocks_pruned) == (3 * ROWS, 3, BLOCKS - 3)


def test_rows_between_stages_are_no_input(context: sharkpy.SharkContext) -> None:
    context.sql("SET shark.join.broadcast.max.bytes = 0")
    joined = record_of(context, "SELECT count(*) FROM blocks a JOIN blocks b ON a.k = b.k WHERE a.g < 9 AND b.g < 9")
    assert (joined.input_rows, joined.blocks_read, joined.blocks_pruned) == (2 * BLOCKS * ROWS, 2 * BLOCKS, 0)


@pytest.mark.settings({"shark.placement.driver": "false"})
def test_stages_of_rdds_count_alike(context: sharkpy.SharkContext) -> None:
    found = record_of(context, "SELECT g, count(*) FROM blocks WHERE k <= 2500 GROUP BY g")
    assert (found.input_rows, found.blocks_read, found.blocks_pruned) == (3 * ROWS, 3, BLOCKS - 3)
    assert (found.cpu_seconds or 0) > 0


def test_first_rows_are_read_in_waves(context: sharkpy.SharkContext) -> None:
    found = record_of(context, "SELECT k FROM blocks ORDER BY k DESC LIMIT 5")
    assert (found.blocks_read or 0) < BLOCKS
    assert (found.blocks_read or 0) + (found.blocks_pruned or 0) == BLOCKS


def test_files_and_writes(context: sharkpy.SharkContext) -> None:
    found = record_of(context, "SELECT max(k) FROM files WHERE k % 2 = 0")
    assert (found.input_rows, found.blocks_read) == (BLOCKS * ROWS, 0)
    assert (found.bytes_read or 0) > 0
    written = record_of(context, "INSERT INTO files SELECT k FROM blocks WHERE k <= 1000")
    assert (written.input_rows, written.rows_written, written.blocks_read) == (ROWS, ROWS, 1)


def test_a_statement_without_input(context: sharkpy.SharkContext) -> None:
    found = record_of(context, "SELECT 1")
    assert (found.input_rows, found.bytes_read, found.blocks_read, found.blocks_pruned) == (0, 0, 0, 0)
    assert found.bytes_spilled is None, "DuckDB did not measure it"
    assert 0 < (found.planning_seconds or 0) <= found.running_seconds


def test_planning_within_planning_counts_once() -> None:
    statement = Statement()
    with statement.planning():
        with statement.planning():
            time.sleep(0.02)
        # The query of WITH has run.
        time.sleep(0.04)
        statement.add_run(0.04)
    assert 0.02 <= statement.figures.planning_seconds < 0.04
    with statement.planning():
        time.sleep(0.01)
    assert statement.figures.planning_seconds >= 0.03


def test_planning_of_with(context: sharkpy.SharkContext) -> None:
    # The first table is computed while the query is planned, since its statistics are wanted.
    sources = " UNION ALL ".join(["SELECT k FROM blocks"] * 20)
    text = f"WITH w AS (SELECT k, count(*) AS n FROM ({sources}) x GROUP BY k) SELECT count(*) FROM w a JOIN w b"
    found = record_of(context, f"{text} ON a.k = b.n JOIN files c ON a.k = c.k")
    assert 0 < (found.planning_seconds or 0) < found.running_seconds
    assert found.rows_written == 0
    steps = "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT * FROM r"
    assert record_of(context, steps).rows_written == 0


def test_the_place_of_an_error(context: sharkpy.SharkContext) -> None:
    with pytest.raises(SharkError):
        context.sql("SELECT k,\n  gg\nFROM blocks")
    found = context.history(1)[0]
    assert (found.error_line, found.error_column) == (2, 3)
    assert found.error_hint == 'did you mean "g"?'


def test_spilled_bytes_are_known_when_measured(context: sharkpy.SharkContext) -> None:
    assert record_of(context, "EXPLAIN ANALYZE SELECT sum(k) FROM blocks").bytes_spilled == 0


def test_cpu_seconds_include_other_threads_of_the_process(context: sharkpy.SharkContext) -> None:
    before = time.process_time()
    found = record_of(context, "SELECT max(hash(a.k, b.k)) FROM blocks a CROSS JOIN files b WHERE b.k <= 1500")
    took = time.process_time() - before
    assert 0.5 * took < (found.cpu_seconds or 0) <= took


def test_process_time_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 10.0
    monkeypatch.setattr(time, "process_time", lambda: now)
    cpu = ProcessCpu()
    first = cpu.begin()
    now = 12.0
    second = cpu.begin()
    now = 16.0
    assert cpu.end(first) == 2 + 4 / 2
    now = 17.0
    assert cpu.end(second) == 4 / 2 + 1
    now = 20.0
    third = cpu.begin()
    assert cpu.end(third) == 0


def test_threads_of_the_statement_count_their_own_time() -> None:
    statement = Statement()

    def work() -> None:
        with statement.computing():
            end = time.thread_time() + 0.05
            while time.thread_time() < end:
                pass

    with statement.active():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert statement.figures.cpu_seconds >= 0.05


def test_the_peak_of_memory_stays() -> None:
    statement = Statement()
    assert statement.figures.peak_bytes is None
    for size in (5, 9, 3):
        statement.figures.note_memory(size)
    assert statement.figures.peak_bytes == 9


# Labels


def test_a_label_is_recorded(context: sharkpy.SharkContext) -> None:
    context.sql("SET shark.query.tag = 'nightly load'")
    assert record_of(context, "SELECT 1").tag == "nightly load"
    context.sql("RESET shark.query.tag")
    assert record_of(context, "SELECT 1").tag == ""


def test_a_label_is_bounded(context: sharkpy.SharkContext) -> None:
    with pytest.raises(ConfigurationError, match="has 257 characters, at most 256"):
        context.sql(f"SET shark.query.tag = {'x' * 257}")


def test_a_label_keeps_plans(context: sharkpy.SharkContext) -> None:
    context.sql("SELECT max(g) FROM blocks WHERE k < 30").fetchall()
    changes = context.conf.plan_changes()
    context.sql("SET shark.query.tag = one")
    assert context.conf.plan_changes() == changes != context.conf.changes()


# Records of earlier engines


def test_rows_of_the_former_version_are_read(tmp_path: Path) -> None:
    options = {"shark.history.saved": True}
    with sharkpy.connect("local[2]", tmp_path / "w", **options) as context:
        context.sql("SELECT 1").fetchall()
        path, known = context.catalog.file_path, context.history(1)[0]
    added = ("tag", "planning_seconds", "input_rows", "bytes_read", "bytes_spilled", "cpu_seconds", "peak_bytes")
    with sqlite3.connect(path) as connection:
        ((body,),) = connection.execute("SELECT body FROM statement_").fetchall()
        values = {name: value for name, value in json.loads(body).items() if name not in (*added, "blocks_read")}
        del values["blocks_pruned"]
        connection.execute("UPDATE statement_ SET version = 1, body = ?", (json.dumps(values),))
    with sharkpy.connect("local[2]", tmp_path / "w", **options) as context:
        [found] = context.history(query_id=known.query_id)
        assert (found.text, found.rows_read, found.input_rows, found.cpu_seconds) == ("SELECT 1", 1, None, None)
        assert context.history(1, like="SELECT 1") == [found]

"""Check of the query, the write and the epoch that ARCHITECTURE.md shows step by step.

UPDATE_PLANS=1 writes the text again.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import sharkpy
from sharkpy.catalog.model import Table
from sharkpy.catalog.readable_catalog import CATALOG_FILE
from sharkpy.execution.commands.insert import insert_with
from sharkpy.execution.commands.writes.staged_write import QuietWrite
from sharkpy.execution.queries.plan_query import bind_text, plan_steps
from sharkpy.optimizer.decisions import Place
from sharkpy.physical.lowering.lower_stage import lower_stage
from sharkpy.physical.split_stages import next_exchange, read_of, replace_exchange, sink_of
from sharkpy.plan.commands import Insert
from sharkpy.plan.logical import LogicalPlan
from sharkpy.streaming import kill_points
from tests.streaming.folder_input import put

DOCUMENT = Path(__file__).parents[1] / "ARCHITECTURE.md"

TABLES = """
CREATE TABLE airlines (carrier STRING, name STRING) TBLPROPERTIES ('shark.cache' = 'MEMORY');
CREATE TABLE flights (month INT, carrier STRING, delay INT) TBLPROPERTIES ('shark.cache' = 'MEMORY');
INSERT INTO airlines VALUES ('AA', 'American'), ('UA', 'United'), ('DL', 'Delta');
INSERT INTO flights VALUES (1, 'AA', 3), (1, 'UA', NULL), (2, 'DL', 12), (3, 'AA', 30);
INSERT INTO flights VALUES (6, 'UA', 4), (7, 'UA', 50), (7, 'DL', -5), (12, 'AA', 7)
"""
QUERY = """SELECT name, count(*) AS flights, sum(delay) AS delay
FROM flights JOIN airlines ON flights.carrier = airlines.carrier
WHERE month >= 6
GROUP BY name
ORDER BY delay DESC"""


def _block(title: str, text: str, language: str = "") -> Iterator[str]:
    yield f"{title}\n\n```{language}\n{text.rstrip()}\n```\n"


def _walk(context: sharkpy.SharkContext) -> Iterator[str]:
    """Text of the query, its plans, the program of every stage and the answer."""
    yield from _block("**HiveQL**", QUERY, "sql")
    bound = bind_text(context, QUERY)
    assert isinstance(bound, LogicalPlan)
    yield from _block("**bind**: names are ids, types are known, casts explicit", bound.explain())
    optimized, placed = plan_steps(context, bound, placement=Place.RDD)
    plan = placed.root
    yield from _block("**optimize**: the filter is in the scan, unused columns are gone", optimized.explain())
    yield from _block("**plan**: one block of two is pruned; rows are exchanged if need be", plan.explain())
    number = 1
    while (exchange := next_exchange(plan)) is not None:
        sql = lower_stage(exchange.child, sink_of(exchange)).program.sql
        yield from _block(f"**stage {number}**, into `{exchange.label}`", sql, "sql")
        plan = replace_exchange(plan, exchange.exchange_id, read_of(exchange, None))
        number += 1
    yield from _block(f"**stage {number}**, the result", lower_stage(plan, sink_of(_result(plan))).program.sql, "sql")
    answer = "\n".join("\t".join(map(str, row)) for row in context.sql(QUERY).fetchall())
    yield from _block("**Result**", answer)


def _result(plan: object) -> object:
    from sharkpy.physical.operators import Exchange
    from sharkpy.physical.plan import SinglePartitioning

    return Exchange(0, plan, SinglePartitioning())  # type: ignore[arg-type]


def _check(name: str, written: str) -> None:
    """Compare the part of the document between the markers `name` with what was `written`, or replace it."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    text = DOCUMENT.read_text()
    before, rest = text.split(begin)
    known, after = rest.split(end)
    if os.environ.get("UPDATE_PLANS"):
        DOCUMENT.write_text(before + begin + written + end + after)
    else:
        assert known == written, "run the test with UPDATE_PLANS=1 and read the difference"


@pytest.mark.spark
def test_the_walk_through_one_query_is_true(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path, shark_placement_driver=False, shark_task_single_max_bytes=0) as context:
        context.sql(TABLES).close()
        walk = "\n".join(_walk(context))
    _check("walk", walk)


WRITE = "INSERT INTO flights VALUES (8, 'DL', 9)"
WRITE_STEPS = {
    "before": "two writes have made two commits",
    "staged": "the query has run; its rows are in the folder of the write",
    "start": "threads begin to sync the files to the disk",
    "prepare": "blocks are made of the rows; the sync has ended",
    "place": "in the catalog's transaction: a row of the log for each file",
    "show": "the transaction is committed",
    "clean": "the new version in memory takes the blocks",
}
"""Finished work at the end of each step; the steps from `start` on belong to `StagedWrite`."""


class _Recorder(QuietWrite):
    """Last target of a write, which records each step when the targets before it have done theirs."""

    def __init__(self, context: sharkpy.SharkContext) -> None:
        self.context = context
        self.lines = [
            "| after the step | what is done | files on the disk | files that count | blocks made | rows in memory |",
            "|---|---|---:|---:|---:|---:|",
        ]

    def record(self, step: str) -> None:
        table = self.context.catalog.table("default", "flights")
        version = self.context.table_cache.loaded_version(table)
        assert version is not None
        blocks, num_rows = self.context.engine.store.usage().num_blocks, version.statistics.count()
        shown = f"{_on_disk(table)} | {_num_files(self.context, table)} | {blocks} | {num_rows}"
        self.lines.append(f"| {step} | {WRITE_STEPS[step]} | {shown} |")

    def start(self, syncs: object) -> None:
        self.record("staged")
        self.record("start")

    def prepare(self) -> None:
        self.record("prepare")

    def place(self) -> None:
        self.record("place")

    def show(self) -> None:
        self.record("show")

    def clean(self) -> None:
        self.record("clean")


def _on_disk(table: Table) -> int:
    return sum(path.is_file() for path in Path(table.location or "").rglob("*"))


def _num_files(context: sharkpy.SharkContext, table: Table) -> int:
    """Number of files that other processes see."""
    with sqlite3.connect(context.catalog.file_path) as file:
        sql = "SELECT count(*) FROM file_ JOIN folder_ USING (folder_id) WHERE folder = ? AND removed IS NULL"
        ((count,),) = file.execute(sql, [context.catalog.locations.stored(table.location or "")])
    return int(count)


def test_the_steps_of_one_write_are_true(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path) as context:
        context.sql(TABLES).close()
        assert context.sql("SELECT count(*) FROM flights").fetchall() == [(8,)]
        recorder = _Recorder(context)
        recorder.record("before")
        command = bind_text(context, WRITE)
        assert isinstance(command, Insert)
        snapshot = context.snapshot()
        insert_with(command, context, snapshot, recorder)
        assert context.sql("SELECT count(*) FROM flights").fetchall() == [(9,)]
    _check("write", "\n".join([*_block("**HiveQL**", WRITE, "sql"), *recorder.lines, ""]))


STREAM = "CREATE STREAM departures (carrier STRING, delay INT) STORED AS JSONFILE FROM FOLDER '{}'"
CONTINUOUS = """CREATE CONTINUOUS TABLE late TRIGGER AVAILABLE NOW AS
SELECT carrier, delay FROM departures WHERE delay > 15"""
EPOCH_STEPS = {
    "before": "epoch 1 has ended; another file has come",
    "begun": "the range of the epoch is in the log",
    "staged": "the query has run as an INSERT; files and log are on the disk",
    "placed": "in the catalog's transaction: rows of its log name the files",
    "committed": "rows, epoch and offset count together",
    "ended": "the log has the end, with rows and time",
}
"""Finished work at the end of each step; the steps from `begun` on belong to `sharkpy.streaming.kill_points`."""


def _epoch(context: sharkpy.SharkContext, root: Path) -> Iterator[str]:
    """Text of a stream, a continuous table, and of what other processes see at each step of its second epoch."""
    folder = root / "in"
    put(folder, "1.json", [{"carrier": "AA", "delay": 20}])
    context.sql(STREAM.format(folder)).close()
    context.sql(CONTINUOUS).close()
    put(folder, "2.json", [{"carrier": "UA", "delay": 4}, {"carrier": "DL", "delay": 31}])
    yield from _block("**HiveQL**", f"{STREAM.format('in')};\n{CONTINUOUS};\nRESUME CONTINUOUS TABLE late;", "sql")
    yield "| after the step | what is done | lines of its log | files on the disk | files that count | epoch | offset |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    lines = [_epoch_line("before", context)]
    kill_points.observer = lambda step: lines.append(_epoch_line(step, context))
    context.sql("RESUME CONTINUOUS TABLE late").close()
    yield from lines
    yield ""


def _epoch_line(step: str, context: sharkpy.SharkContext) -> str:
    table, root = context.catalog.table("default", "late"), Path(context.catalog.warehouse_dir)
    (log,) = root.rglob("*.jsonl")
    with closing(sqlite3.connect(f"file:{root / CATALOG_FILE}?mode=ro", uri=True)) as catalog:
        ((epoch, offsets),) = catalog.execute("SELECT epoch, offsets FROM continuous_").fetchall()
    ((_, offset),) = json.loads(offsets)
    num_lines, count = len(log.read_text().splitlines()), _num_files(context, table)
    return f"| {step} | {EPOCH_STEPS[step]} | {num_lines} | {_on_disk(table)} | {count} | {epoch} | {offset} |"


def test_the_steps_of_one_epoch_are_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kill_points, "observer", None)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        text = "\n".join(_epoch(context, tmp_path))
        assert context.sql("SELECT carrier FROM late ORDER BY carrier").fetchall() == [("AA",), ("DL",)]
    _check("epoch", text)

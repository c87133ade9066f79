"""Staging folders while other work disturbs them: tasks that outlive their statement, a table dropped meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sharkpy
from sharkpy.base.errors import SharkError, TableNotFoundError
from sharkpy.execution.queries import write_query
from sharkpy.execution.tasks.inputs import TaskData, TaskMetrics
from sharkpy.execution.tasks.sinks import SinkContext
from sharkpy.execution.tasks.task import run_task
from sharkpy.physical.stage_program import FileSink, StageProgram
from sharkpy.sources import staged_files
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema
from tests.sources.staging_folder import new_staging

_COLUMNS = Schema((Field("c0", parse_type("bigint")),))
INSERTS = {
    "plain": "INSERT INTO one SELECT id FROM base",
    "parts": "INSERT INTO one SELECT id, id % 2 FROM base",
    "part": "INSERT OVERWRITE TABLE one PARTITION (p = 1) SELECT id FROM base",
    "many": "FROM base INSERT INTO TABLE one SELECT id INSERT OVERWRITE DIRECTORY '{folder}/out' SELECT id",
}


def test_a_task_that_writes_on_leaves_nothing(tmp_path: Path) -> None:
    """The task's files appear under a name of their own first, as a real task's files do."""
    for number in range(200):
        staging = new_staging(tmp_path / "t")
        is_started = threading.Event()

        def write(staging: str = staging, is_started: threading.Event = is_started) -> None:
            for name in range(10_000):
                attempt = Path(staging, f".part-{name}")
                try:
                    attempt.touch()
                    attempt.replace(Path(staging, f"part-{name}"))
                except FileNotFoundError:
                    break
                if name == 5:
                    is_started.set()

        task = threading.Thread(target=write)
        task.start()
        is_started.wait()
        staged_files.discard_staging(staging)
        task.join()
        assert list((tmp_path / "t").iterdir()) == [], f"round {number}"


@pytest.mark.parametrize("partitions", [(), ("p", "q")])
def test_a_task_makes_no_folder_anew(tmp_path: Path, partitions: tuple[str, ...]) -> None:
    staging = new_staging(tmp_path / "t")
    sink = FileSink(_COLUMNS, "parquet", (), staging, partition_columns=partitions, max_partitions=9)
    texts = "".join(f", 'x' AS {name}" for name in partitions)
    program = StageProgram(f"SELECT range AS c0{texts} FROM range(10)", (), _COLUMNS, sink)
    staged_files.discard_staging(staging)
    with duckdb.connect() as connection, pytest.raises((SharkError, OSError)):
        list(run_task(program, TaskData(), connection, SinkContext(), TaskMetrics()))
    assert list((tmp_path / "t").iterdir()) == []


def context_of(folder: Path, kind: str) -> sharkpy.SharkContext:
    context = sharkpy.connect(warehouse=folder / "warehouse", shark_table_retention="0")
    context.sql("CREATE TABLE base AS SELECT explode(sequence(1, 50)) AS id")
    partitions = "PARTITIONED BY (p INT)" if kind.startswith("part") else ""
    context.sql(f"CREATE TABLE one (id INT) {partitions} STORED AS PARQUET")
    return context


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", INSERTS)
@pytest.mark.parametrize("moment", ["before", "behind"])
def test_a_table_is_dropped_as_its_rows_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, moment: str
) -> None:
    """Another session drops the table, right before its files are written or right after."""
    with context_of(tmp_path, kind) as context:
        run_to_sink = write_query.run_to_sink

        def dropping(*arguments: Any) -> Sequence[object]:
            if moment == "before":
                context.new_session().sql("DROP TABLE IF EXISTS one")
            written = run_to_sink(*arguments)
            context.new_session().sql("DROP TABLE IF EXISTS one")
            return written

        monkeypatch.setattr(write_query, "run_to_sink", dropping)
        with pytest.raises(TableNotFoundError, match="Table not found one"):
            context.sql(INSERTS[kind].format(folder=tmp_path))
        left = [path.name for path in (tmp_path / "warehouse").iterdir() if not path.name.startswith(".")]
        assert left == ["base"]
        assert not list(tmp_path.glob("**/.staging-*"))
        assert not (tmp_path / "out").exists()


def test_a_table_is_dropped_before_its_rows_are_staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with context_of(tmp_path, "plain") as context:
        transaction = type(context.catalog).transaction

        def dropping(self: Any, **given: bool) -> Any:
            monkeypatch.undo()
            context.new_session().sql("DROP TABLE one")
            return transaction(self, **given)

        monkeypatch.setattr(type(context.catalog), "transaction", dropping)
        with pytest.raises(TableNotFoundError, match="Table not found one"):
            context.sql(INSERTS["plain"])
        assert not (tmp_path / "warehouse" / "one").exists()

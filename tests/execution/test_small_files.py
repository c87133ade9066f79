"""Small file inputs of a task: tables that are read once, before the query, and counted once."""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import CancelledError, SourceError
from sharkpy.execution.tasks import small_files
from sharkpy.execution.tasks import small_files as kept_module
from sharkpy.execution.tasks.inputs import TaskData, TaskMetrics
from sharkpy.execution.tasks.small_files import (
    SplitCache,
    SplitRows,
    knows_rows,
    reads_streams,
    small_tables,
    split_cache,
)
from sharkpy.execution.tasks.task import task_batches
from sharkpy.execution.workers.connection_pool import ConnectionPool, ConnectionSettings
from sharkpy.physical.stage_program import FileColumns, ResultSink, StageProgram, TaskInput
from sharkpy.sources import split_rows
from sharkpy.sources.formats import source
from sharkpy.sources.layout import list_data_files
from sharkpy.sources.malformed_rows import COUNTED, SKIPPED, validated_splits
from sharkpy.sources.source import ReadMetrics, Split
from sharkpy.values.types import BIGINT, STRING, Field, Schema, arrow_schema

SCHEMA = Schema((Field("n", BIGINT), Field("s", STRING)))
OUTPUT = Schema((Field("c0", BIGINT), Field("c1", STRING)))
LINES = ['{"n": 1, "s": "a"}', "no object", '{"n": 2, "s": "b"}', '{"n": "x", "s": "c"}']
ROWS = [(1, "a"), (2, "b")]
JOINED = """SELECT "c0", "c1" FROM in0 JOIN in1 ON "c0" = "c2" CROSS JOIN (SELECT count(*) AS k FROM in2)
WHERE k > 0 ORDER BY 1"""
INPUTS = (
    FileColumns("in0", SCHEMA, ("n",), ("c0",)),
    FileColumns("in1", SCHEMA, ("s", "n"), ("c1", "c2")),
    FileColumns("in2", SCHEMA, (), ()),
)
JOIN = StageProgram(JOINED, INPUTS, OUTPUT, ResultSink())
ALONE = FileColumns("in0", SCHEMA, ("n", "s"), ("c0", "c1"))
PASSED = StageProgram("", (ALONE,), OUTPUT, ResultSink())


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    split_cache.clear()


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    pool = ConnectionPool(ConnectionSettings(1, 512 << 20, str(tmp_path_factory.mktemp("duckdb"))))
    with pool.borrow() as connection:
        yield connection
    pool.close()


def put(folder: Path, name: str, lines: Sequence[str] = LINES, age: float = 3600) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines))
    moment = time.time() - age
    os.utime(path, (moment, moment))
    return path


def splits(folder: Path, how: str | None = COUNTED) -> list[Split]:
    found = source("json").splits(list_data_files(str(folder)), SCHEMA, (), 1 << 20)
    return found if how is None else validated_splits(found, how)


def data(found: Sequence[Split]) -> TaskData:
    return TaskData(TaskInput(splits=tuple((f"in{number}", tuple(found)) for number in range(3))))


def run(
    program: StageProgram, found: Sequence[Split], connection: duckdb.DuckDBPyConnection
) -> tuple[list[tuple[object, ...]], TaskMetrics]:
    metrics = TaskMetrics()
    with task_batches(program, data(found), connection, metrics) as batches:
        table = pa.Table.from_batches(list(batches), arrow_schema(program.output))
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True)), metrics


@pytest.mark.parametrize(("how", "bad", "most_rows"), [(COUNTED, 4, 8), (SKIPPED, 4, 4)])
def test_scans_of_the_same_splits_read_them_once(
    tmp_path: Path, connection: duckdb.DuckDBPyConnection, reads: list[Split], how: str, bad: int, most_rows: int
) -> None:
    put(tmp_path / "in", "a")
    put(tmp_path / "in", "b", [line.replace("1", "3").replace("2", "4") for line in LINES])
    found = splits(tmp_path / "in", how)
    assert not reads_streams(JOIN, data(found).part)
    rows, metrics = run(JOIN, found, connection)
    assert rows == [(1, "a"), (2, "b"), (3, "a"), (4, "b")]
    assert reads == found
    assert metrics.read.malformed_rows == bad
    assert metrics.read.bytes == sum(split.length for split in found)
    assert metrics.rows_in == len(INPUTS) * most_rows


def test_rows_are_known_where_all_files_tell_them(tmp_path: Path) -> None:
    put(tmp_path / "in", "a")
    put(tmp_path / "in", "b")
    found = splits(tmp_path / "in", SKIPPED)
    told = [replace(split, num_rows=2) for split in found]
    assert not knows_rows(JOIN, data(found).part)
    assert not knows_rows(JOIN, data([told[0], found[1]]).part)
    assert knows_rows(JOIN, data(told).part)


@pytest.mark.parametrize("limit", ["SMALL_BYTES", "MOST_DECODED"])
@pytest.mark.parametrize("program", [JOIN, PASSED], ids=["join", "alone"])
def test_what_is_too_much_is_a_stream(
    tmp_path: Path,
    connection: duckdb.DuckDBPyConnection,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    program: StageProgram,
) -> None:
    put(tmp_path / "in", "a")
    found = splits(tmp_path / "in", SKIPPED)
    expected = run(program, found, connection)[0]
    assert small_tables(program, data(found), TaskMetrics()).keys() == {spec.relation for spec in program.data_inputs}
    monkeypatch.setattr(small_files, limit, 10)
    metrics = TaskMetrics()
    assert small_tables(program, data(found), metrics) == {}
    assert (metrics.rows_in, metrics.read) == (0, ReadMetrics())
    assert reads_streams(program, data(found).part) == (limit == "SMALL_BYTES")
    rows, metrics = run(program, found, connection)
    assert rows == expected == ROWS
    # Scans of the same file read it once.
    assert metrics.read.malformed_rows == 2


def test_a_small_file_may_have_many_rows(tmp_path: Path, connection: duckdb.DuckDBPyConnection) -> None:
    """Its bytes are few, since it is compressed: what it takes in memory is bounded all the same."""
    (tmp_path / "in").mkdir()
    with gzip.open(tmp_path / "in" / "a.gz", "wt") as file:
        file.write('{"n": 1, "s": "%s"}\n' % ("x" * 1000) * 40_000)
    found = splits(tmp_path / "in")
    assert sum(split.length for split in found) < small_files.SMALL_BYTES
    assert small_tables(PASSED, data(found), TaskMetrics()) == {}
    rows, metrics = run(PASSED, found, connection)
    assert len(rows) == metrics.rows_in == 40_000


def test_a_query_over_one_file_of_a_table_may_end_before_it_has_read_it(tmp_path: Path) -> None:
    put(tmp_path / "in", "a")
    found = splits(tmp_path / "in", None)
    assert small_tables(PASSED, data(found), TaskMetrics()) == {}
    assert small_tables(JOIN, data(found), TaskMetrics()).keys() == {"in0", "in1", "in2"}
    assert small_tables(JOIN, data(()), TaskMetrics())["in1"].schema.names == ["c1", "c2"]


@pytest.mark.parametrize("how", [None, COUNTED])
@pytest.mark.parametrize("is_known", [False, True])
def test_errors_of_files_are_told(
    tmp_path: Path, connection: duckdb.DuckDBPyConnection, how: str | None, is_known: bool
) -> None:
    path = put(tmp_path / "in", "a")
    found = splits(tmp_path / "in", how)
    if is_known:
        run(JOIN, found, connection)
    put(tmp_path / "in", "a", LINES[:1])
    with pytest.raises(SourceError, match="was changed while it was being read"):
        run(JOIN, found, connection)
    path.unlink()
    with pytest.raises(SourceError, match="does not exist") as caught:
        run(JOIN, found, connection)
    assert caught.value.sqlstate == "58P01"
    put(tmp_path / "in", "a")
    assert run(JOIN, splits(tmp_path / "in", how), connection)[0] == ROWS


def test_reading_ends_with_the_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        put(tmp_path / "in", name)
    statement, original, begun = Cancellation(), split_rows.read_split, list[Split]()

    def cancelling(split: Split, *arguments: object) -> Iterator[pa.RecordBatch]:
        begun.append(split)
        statement.cancel()
        return original(split, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(split_rows, "read_split", cancelling)
    metrics = TaskMetrics()
    with pytest.raises(CancelledError), statement.active():
        small_tables(JOIN, data(splits(tmp_path / "in")), metrics)
    assert len(begun) == 1
    assert metrics.rows_in == 0


def test_rows_of_a_table_are_kept(tmp_path: Path, connection: duckdb.DuckDBPyConnection, reads: list[Split]) -> None:
    path = put(tmp_path / "in", "a")
    first = run(JOIN, splits(tmp_path / "in", None), connection)
    assert len(reads) == 1
    again = run(JOIN, splits(tmp_path / "in", None), connection)
    assert again[0] == first[0] == ROWS
    assert (again[1].read, again[1].rows_in) == (first[1].read, first[1].rows_in)
    assert len(reads) == 1
    # Another file, and then the first one after a change.
    put(tmp_path / "in", "b", ['{"n": 9, "s": "z"}'])
    assert run(JOIN, splits(tmp_path / "in", None), connection)[0] == [*ROWS, (9, "z")]
    assert [Path(split.path).name for split in reads] == ["a", "b"]
    path.write_text(path.read_text().replace("1", "5"))
    assert run(JOIN, splits(tmp_path / "in", None), connection)[0] == [(2, "b"), (5, "a"), (9, "z")]
    assert [Path(split.path).name for split in reads] == ["a", "b", "a"]


@pytest.mark.parametrize(("how", "age"), [(COUNTED, 3600), (None, -3600), (None, 0)])
def test_rows_of_epochs_and_of_files_that_were_just_written_are_not_kept(
    tmp_path: Path,
    connection: duckdb.DuckDBPyConnection,
    monkeypatch: pytest.MonkeyPatch,
    how: str | None,
    age: float,
) -> None:
    monkeypatch.setattr(kept_module, "_CLOCK_NS", 10**12)
    put(tmp_path / "in", "a", age=age)
    run(JOIN, splits(tmp_path / "in", how), connection)
    assert split_cache.size_bytes == 0


def rows_of(size: int) -> SplitRows:
    return SplitRows((), ReadMetrics(), size)


def test_what_is_kept_is_bounded(tmp_path: Path) -> None:
    for name in "abcd":
        put(tmp_path / "in", name)
    one, two, three, four = splits(tmp_path / "in", None)
    kept = SplitCache(most_bytes=100)
    for split in (one, two, three):
        kept.keep(split, SCHEMA, ("n",), rows_of(33))
    assert kept.size_bytes == 99
    assert kept.find(one, SCHEMA, ("n",)) is not None
    assert kept.find(one, SCHEMA, ("n", "s")) is None
    kept.keep(four, SCHEMA, ("n",), rows_of(40))
    assert [kept.find(split, SCHEMA, ("n",)) is None for split in (one, two, three, four)] == [False, True, True, False]
    assert kept.size_bytes == 73
    kept.keep(two, SCHEMA, ("n",), rows_of(51))
    assert kept.find(two, SCHEMA, ("n",)) is None


def test_what_is_kept_goes_after_a_while(tmp_path: Path) -> None:
    put(tmp_path / "in", "a")
    (split,) = splits(tmp_path / "in", None)
    kept = SplitCache(seconds=0.0)
    kept.keep(split, SCHEMA, ("n",), rows_of(10))
    assert kept.size_bytes == 10
    time.sleep(0.01)
    assert kept.find(split, SCHEMA, ("n",)) is None
    assert kept.size_bytes == 0

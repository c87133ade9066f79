"""Scans of the same files in a task: the files are read once, and each scan has its own columns and filters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from sharkpy.execution.tasks import small_files
from sharkpy.execution.tasks.inputs import TaskData, TaskMetrics
from sharkpy.execution.tasks.task import task_batches
from sharkpy.execution.workers.connection_pool import ConnectionPool, ConnectionSettings
from sharkpy.physical.stage_program import FileColumns, ResultSink, StageProgram, TaskInput
from sharkpy.sources.formats import source
from sharkpy.sources.layout import list_data_files
from sharkpy.sources.malformed_rows import COUNTED, validated_splits
from sharkpy.sources.source import Split
from sharkpy.values.types import BIGINT, STRING, Field, Schema, arrow_schema

SCHEMA = Schema((Field("n", BIGINT), Field("s", STRING)))
OUTPUT = Schema((Field("c0", BIGINT), Field("c1", STRING)))
NUM_ROWS, NUM_FILES = 3000, 3
INPUTS = (
    FileColumns("in0", SCHEMA, ("n",), ("c0",)),
    FileColumns("in1", SCHEMA, ("s", "n"), ("c1", "c2")),
    FileColumns("in2", SCHEMA, (), ()),
)
JOIN = """SELECT "c0", "c1" FROM in0 JOIN in1 ON "c0" = "c2" CROSS JOIN (SELECT count(*) AS k FROM in2)
WHERE k > "c0" AND "c0" >= 2000 AND "c2" % 2 = 0"""
QUERIES = {
    "plain": JOIN,
    "with inner queries": f"WITH s1 AS NOT MATERIALIZED (\n{JOIN}\n)\nSELECT * FROM s1",
    "within a query": f"SELECT * FROM (WITH s1 AS NOT MATERIALIZED (\n{JOIN}\n)\nSELECT * FROM s1) AS q",
}


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    pool = ConnectionPool(ConnectionSettings(2, 512 << 20, str(tmp_path_factory.mktemp("duckdb"))))
    with pool.borrow() as connection:
        yield connection
    pool.close()


@pytest.fixture
def reads(reads: list[Split], monkeypatch: pytest.MonkeyPatch) -> list[Split]:
    """Splits that were read, none of which is small."""
    monkeypatch.setattr(small_files, "SMALL_BYTES", 0)
    return reads


@pytest.fixture
def splits(tmp_path: Path) -> list[Split]:
    """Files of numbers, with a malformed line in each."""
    for number in range(NUM_FILES):
        lines = [f'{{"n": {n}, "s": "s{n}"}}\n' for n in range(number, NUM_ROWS, NUM_FILES)]
        Path(tmp_path, f"{number}.json").write_text("".join(lines) + "no object\n")
    return list(validated_splits(source("json").splits(list_data_files(str(tmp_path)), SCHEMA, (), 1 << 20), COUNTED))


def run(
    sql: str, splits_of: Sequence[Sequence[Split]], connection: duckdb.DuckDBPyConnection
) -> tuple[list[tuple[object, ...]], TaskMetrics]:
    part = TaskInput(splits=tuple((f"in{number}", tuple(own)) for number, own in enumerate(splits_of)))
    program, metrics = StageProgram(sql, INPUTS, OUTPUT, ResultSink()), TaskMetrics()
    with task_batches(program, TaskData(part), connection, metrics) as batches:
        table = pa.Table.from_batches(list(batches), arrow_schema(OUTPUT))
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True)), metrics


@pytest.mark.parametrize("name", QUERIES)
def test_scans_of_the_same_splits_read_them_once(
    connection: duckdb.DuckDBPyConnection, splits: list[Split], reads: list[Split], name: str
) -> None:
    found, metrics = run(QUERIES[name], [splits] * 3, connection)
    assert found == [(n, f"s{n}") for n in range(2000, NUM_ROWS, 2)]
    assert sorted(split.path for split in reads) == sorted(split.path for split in splits)
    assert metrics.read.malformed_lines == NUM_FILES


def test_a_scan_of_other_splits_reads_its_own(
    connection: duckdb.DuckDBPyConnection, splits: list[Split], reads: list[Split]
) -> None:
    found, _ = run(JOIN, [splits, splits[:1], splits], connection)
    assert found == [(n, f"s{n}") for n in range(2000, NUM_ROWS, 2) if n % NUM_FILES == 0]
    assert len(reads) == NUM_FILES + 1


def test_a_query_with_a_limit_does_not_store_the_rows(
    connection: duckdb.DuckDBPyConnection, splits: list[Split], reads: list[Split]
) -> None:
    found, _ = run(f"{JOIN} ORDER BY 1 LIMIT 2", [splits] * 3, connection)
    assert found == [(2000, "s2000"), (2002, "s2002")]
    assert len(reads) == NUM_FILES * len(INPUTS)

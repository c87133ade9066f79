from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from sharkpy.base.errors import CorruptionError, ExecutionError, InternalError
from sharkpy.columnar.block import encode_block
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.store import BlockStore, open_block
from sharkpy.columnar.value_sets import key_bits
from sharkpy.execution.tasks.inputs import BatchStream, TaskData, TaskMetrics, open_input
from sharkpy.execution.tasks.report import BlockResult, FileResult
from sharkpy.execution.tasks.sinks import SinkContext, encode_payload
from sharkpy.execution.tasks.task import run_task, task_batches
from sharkpy.execution.workers.connection_pool import ConnectionPool, ConnectionSettings
from sharkpy.physical.stage_program import (
    BlockColumns,
    BlockSink,
    BroadcastColumns,
    ExchangeColumns,
    FileSink,
    ResultSink,
    StageInput,
    StageProgram,
    TaskInput,
)
from sharkpy.values.types import BIGINT, STRING, Field, Schema, arrow_schema

SCHEMA = Schema((Field("c0", BIGINT), Field("c1", STRING)))
ARROW = arrow_schema(SCHEMA)
STORED = Schema((Field("id", BIGINT), Field("name", STRING)))


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    pool = ConnectionPool(ConnectionSettings(1, 512 << 20, str(tmp_path_factory.mktemp("duckdb"))))
    with pool.borrow() as connection:
        yield connection
    pool.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[BlockStore]:
    (tmp_path / "shm").mkdir()
    store = BlockStore(64 << 20, str(tmp_path / "shm"), str(tmp_path / "local"))
    yield store
    store.close()


def rows(program: StageProgram, data: TaskData, connection: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
    with task_batches(program, data, connection, TaskMetrics()) as batches:
        table = pa.Table.from_batches(list(batches), arrow_schema(program.output))
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def program(sql: str, *inputs: StageInput) -> StageProgram:
    return StageProgram(sql, inputs, SCHEMA, ResultSink())


def table(low: int, high: int) -> pa.Table:
    return pa.table({"c0": range(low, high), "c1": [f"s{i % 3}" for i in range(low, high)]}, schema=ARROW)


def test_blocks_of_several_encodings_are_one_relation(store: BlockStore, connection: duckdb.DuckDBPyConnection) -> None:
    stored = Schema((Field("id", BIGINT), Field("name", STRING)))
    handles = []
    for low, encoding in ((0, "plain"), (10, "dictionary"), (20, "")):
        content = table(low, low + 10).rename_columns(["id", "name"])
        handles.append(store.writer().write(encode_block(content, stored, force_encoding=encoding)))
    store.adopt(handles)
    spec = BlockColumns("in0", ("name", "id"), ("c1", "c0"))
    data = TaskData(TaskInput(blocks=(("in0", tuple(handles)),)))
    found = rows(program('SELECT "c0", "c1" FROM in0 ORDER BY 1', spec), data, connection)
    assert found == [(i, f"s{i % 3}") for i in range(30)]
    counted = StageProgram(
        "SELECT count(*) AS c5 FROM in0", (BlockColumns("in0", (), ()),), Schema((Field("c5", BIGINT),)), ResultSink()
    )
    assert rows(counted, data, connection) == [(30,)]


def _stored(store: BlockStore, num_blocks: int) -> list[BlockHandle]:
    """Blocks of ten rows, in turn plain and as dictionaries, with a NULL in each."""
    handles = []
    for low in range(0, 10 * num_blocks, 10):
        content = table(low, low + 10)
        names = pa.array([None, *content.column("c1").to_pylist()[1:]], pa.string())
        content = pa.table({"id": content.column("c0"), "name": names})
        encoding = "plain" if low % 20 else "dictionary"
        handles.append(store.writer().write(encode_block(content, STORED, force_encoding=encoding)))
    store.adopt(handles)
    return handles


@pytest.mark.parametrize("limit", [-1, 0, 20, 1 << 30])
def test_blocks_beyond_the_limit_are_decoded_as_they_are_scanned(
    limit: int, store: BlockStore, connection: duckdb.DuckDBPyConnection
) -> None:
    spec = BlockColumns("in0", ("name", "id"), ("c1", "c0"), STORED.select(["name", "id"]), ("", "SMALLINT"))
    part = TaskInput(blocks=(("in0", tuple(_stored(store, 6))),))
    data = TaskData(part, decoded_limit=limit)
    joined = 'SELECT a."c0", b."c1" FROM in0 a JOIN in0 b ON a."c0" = b."c0" ORDER BY 1'
    expected = [(i, None if i % 10 == 0 else f"s{i % 3}") for i in range(60)]
    assert rows(program(joined, spec), data, connection) == expected
    held = open_input(spec, data, TaskMetrics())
    assert any(isinstance(one, BatchStream) for one in held) == (limit <= 20)


@pytest.mark.parametrize("limit", [-1, 1 << 30])
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_without_the_keys_of_a_join_are_left_out(
    limit: int, threads: int, store: BlockStore, connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sharkpy.execution.tasks.inputs._LARGE_ROWS", 1)
    keys = key_bits(pa.chunked_array([[3, 17, 18, 41, 99]], pa.int64()))
    assert keys is not None
    schema = STORED.select(["name", "id"])
    spec = BlockColumns("in0", ("name", "id"), ("c1", "c0"), schema, ("", "SMALLINT"), keys=(("id", keys),))
    part = TaskInput(blocks=(("in0", tuple(_stored(store, 6))),))
    data = TaskData(part, decoded_limit=limit, threads=threads)
    found = rows(program('SELECT "c0", "c1" FROM in0 ORDER BY 1', spec), data, connection)
    assert found == [(3, "s0"), (17, "s2"), (18, "s0"), (41, "s2")]


def test_a_column_damaged_behind_the_limit_names_its_block(
    store: BlockStore, connection: duckdb.DuckDBPyConnection
) -> None:
    handles = _stored(store, 4)
    path = Path(handles[3].memory_path)
    content = bytearray(path.read_bytes())
    place = content.index(struct.pack("<10q", *range(30, 40)))
    content[place] ^= 0x55
    path.unlink()
    path.write_bytes(content)
    spec = BlockColumns("in0", ("id", "name"), ("c0", "c1"), STORED)
    data = TaskData(TaskInput(blocks=(("in0", tuple(handles)),)), decoded_limit=0)
    with pytest.raises(CorruptionError) as caught:
        list(run_task(program("SELECT * FROM in0", spec), data, connection, SinkContext(), TaskMetrics()))
    assert caught.value.block_id == handles[3].block_id
    assert rows(program("SELECT 1 AS c0, 'x' AS c1"), TaskData(), connection) == [(1, "x")]


def test_a_task_without_blocks_has_no_rows_of_the_same_types(connection: duckdb.DuckDBPyConnection) -> None:
    spec = BlockColumns("in0", ("id", "name"), ("c0", "c1"), SCHEMA)
    assert rows(program('SELECT "c0" + 1 AS c0, "c1" FROM in0', spec), TaskData(), connection) == []
    with pytest.raises(InternalError, match='relation "in0"'):
        rows(program("SELECT * FROM in0", BlockColumns("in0", ("id",), ("c0",))), TaskData(), connection)


def test_exchanges_and_broadcasts(connection: duckdb.DuckDBPyConnection) -> None:
    payloads = [encode_payload(7, ARROW, table(low, low + 3).to_batches()) for low in (0, 3)]
    data = TaskData(payloads={7: payloads}, broadcasts={8: table(4, 9)})
    joined = program(
        'SELECT a."c0", b."c1" FROM in0 a JOIN in1 b ON a."c0" = b."c0" ORDER BY 1',
        ExchangeColumns("in0", 7, SCHEMA),
        BroadcastColumns("in1", 8, SCHEMA),
    )
    assert rows(joined, data, connection) == [(4, "s1"), (5, "s2")]
    empty = program("SELECT * FROM in0", ExchangeColumns("in0", 9, SCHEMA))
    assert rows(empty, data, connection) == []


def test_an_empty_program_passes_its_input_through(connection: duckdb.DuckDBPyConnection) -> None:
    data = TaskData(payloads={7: [encode_payload(7, ARROW, table(0, 4).to_batches())]})
    assert rows(program("", ExchangeColumns("in0", 7, SCHEMA)), data, connection) == [
        (i, f"s{i % 3}") for i in range(4)
    ]


def test_output_has_the_declared_types(connection: duckdb.DuckDBPyConnection) -> None:
    assert rows(program("SELECT 1::TINYINT AS c0, NULL AS c1"), TaskData(), connection) == [(1, None)]


def test_inputs_are_gone_after_the_task(connection: duckdb.DuckDBPyConnection) -> None:
    data = TaskData(payloads={7: [encode_payload(7, ARROW, table(0, 4).to_batches())]})
    rows(program("SELECT * FROM in0", ExchangeColumns("in0", 7, SCHEMA)), data, connection)
    with pytest.raises(duckdb.CatalogException):
        connection.execute("SELECT * FROM in0")


def test_a_failure_keeps_the_connection_usable(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(ExecutionError, match="convert"):
        list(
            run_task(program("SELECT 'abc'::INT AS c0, '' AS c1"), TaskData(), connection, SinkContext(), TaskMetrics())
        )
    assert rows(program("SELECT 1 AS c0, 'x' AS c1"), TaskData(), connection) == [(1, "x")]


@pytest.mark.parametrize(("count", "sizes"), [(0, []), (5, [5]), (10, [10]), (25, [10, 10, 5])])
def test_blocks_are_cut_by_rows(
    count: int, sizes: list[int], store: BlockStore, connection: duckdb.DuckDBPyConnection
) -> None:
    sink = BlockSink(Schema((Field("id", BIGINT), Field("name", STRING))), 10, None)
    writes = StageProgram(f"SELECT range AS c0, 'x' AS c1 FROM range({count})", (), SCHEMA, sink)
    metrics = TaskMetrics()
    results = list(run_task(writes, TaskData(), connection, SinkContext(writer=store.writer()), metrics, 4))
    handles = [result.handle for result in results if isinstance(result, BlockResult)]
    store.adopt(handles)
    assert [handle.num_rows for handle in handles] == sizes
    assert metrics.rows_out == count
    ids = [value for handle in handles for value in open_block(handle).read(["id"]).column(0).to_pylist()]
    assert ids == list(range(count))


def test_a_file_appears_when_it_is_complete(tmp_path: Path, connection: duckdb.DuckDBPyConnection) -> None:
    sink = FileSink(SCHEMA, "parquet", (), str(tmp_path / "out"))
    (tmp_path / "out").mkdir()
    context = SinkContext(partition=3)
    good = StageProgram("SELECT range AS c0, 'x' AS c1 FROM range(10)", (), SCHEMA, sink)
    (result,) = run_task(good, TaskData(), connection, context, TaskMetrics())
    assert isinstance(result, FileResult)
    assert result.num_rows == 10
    assert Path(result.path).name == "part-00003.parquet"
    bad = StageProgram(
        "SELECT if(range < 900000, range, error('x [SQLSTATE 22012]')) AS c0, 'x' AS c1 FROM range(1000000)",
        (),
        SCHEMA,
        sink,
    )
    with pytest.raises(ExecutionError) as caught:
        list(run_task(bad, TaskData(), connection, SinkContext(partition=4), TaskMetrics(), 1000))
    assert (caught.value.sqlstate, caught.value.message) == ("22012", "x")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["part-00003.parquet"]
    none = StageProgram("SELECT range AS c0, 'x' AS c1 FROM range(0)", (), SCHEMA, sink)
    assert list(run_task(none, TaskData(), connection, context, TaskMetrics())) == []


def test_a_failed_query_leaves_no_transaction_to_the_next(tmp_path: Path) -> None:
    """The query fails as if an interrupt met the ROLLBACK too."""
    pool = ConnectionPool(ConnectionSettings(1, 512 << 20, str(tmp_path)))
    with pytest.raises(duckdb.Error), pool.borrow() as cursor:
        cursor.begin().execute("SELECT error('aborts the transaction')").fetchall()
    with pool.borrow() as cursor:
        assert cursor.execute("SELECT 1").fetchall() == [(1,)]
    pool.close()

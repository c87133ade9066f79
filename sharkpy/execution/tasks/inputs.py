"""Inputs of a task as Arrow data: blocks, file splits, exchange payloads and broadcasts."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sharkpy.base.cancellation import Cancellation, checked, submit
from sharkpy.base.errors import CorruptionError, InternalError, InvalidTextError
from sharkpy.base.records import dataclass
from sharkpy.columnar import arrow_buffers
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.host import is_same_host
from sharkpy.execution.tasks.error_conversion import as_shark_error, raised_by
from sharkpy.execution.tasks.payloads import read_payloads
from sharkpy.execution.tasks.rebuilt_reads import read_or_rebuild, rebuild_for
from sharkpy.execution.tasks.report import OperatorFigures
from sharkpy.physical.stage_program import (
    BlockColumns,
    BroadcastColumns,
    DataInput,
    ExchangeColumns,
    FileColumns,
    GivenColumns,
    KernelColumns,
    StageProgram,
    TaskInput,
)
from sharkpy.sources.source import ReadMetrics, Split
from sharkpy.values.nested_arrow import cast_table
from sharkpy.values.types import arrow_schema, to_arrow
from sharkpy.values.utf8 import valid_batch

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from sharkpy.columnar.block import Block
    from sharkpy.execution.tasks.lookup_tables import LookupTable

DECODED_BYTES = 1 << 30
_CALLED_ROWS = 1 << 16
"""Most rows of a call: few enough for arrays to stay in the processor's cache."""
_LARGE_ROWS = 1_000_000
"""Number of rows of a relation above which several threads decode its blocks."""


_FILE_FAULTS = ("Error", "InternalException", "InvalidInputException", "IOException", "SerializationException")
"""Exceptions of DuckDB that a file's content may cause."""
Rebuild = Callable[[BlockHandle], bool]
"""Function that rebuilds a lost or damaged block in the task; returns False if it cannot."""
_NAMES = re.compile(r"""'[^']*'|"[^"]*"|\bin[0-9]+\b""")
"""Names of relations in SQL, and the texts that may contain such words."""
InputQuery = Callable[[str], str]
"""Function that returns a SELECT over the inputs' relations as a query of their registered sources."""
Connections = Callable[[StageProgram], AbstractContextManager["DuckDBPyConnection"]]
"""Function that lends a connection for another program of the same task."""


@dataclass(slots=True)
class TaskMetrics:
    """Figures of a task, counted while it runs."""

    rows_in: int = 0
    rows_exchanged: int = 0
    """Part of `rows_in` that came from exchanges."""
    rows_out: int = 0
    bytes_out: int = 0
    bytes_spilled: int = 0
    """Bytes that DuckDB wrote to temporary files, if it measured the query."""
    read: ReadMetrics = field(default_factory=ReadMetrics)
    is_profiled: bool = False
    """True if DuckDB measures each operator, for EXPLAIN ANALYZE."""
    blocks_local: int = 0
    """Number of blocks in the memory of the task's host, if there are several hosts."""
    blocks_remote: int = 0
    blocks_rebuilt: int = 0
    """Number of lost or damaged blocks that the task rebuilt."""
    operators: list[OperatorFigures] = field(default_factory=list)
    cpu_seconds: float = 0.0
    collected: bytes = b""
    """Encoded findings of a map task's collectors."""

    def for_subquery(self) -> TaskMetrics:
        """Return metrics for a subquery of the task, whose output is not the task's."""
        return TaskMetrics(read=self.read, is_profiled=self.is_profiled)

    def add_reads(self, below: TaskMetrics) -> None:
        """Add the reads of a subquery."""
        self.rows_in += below.rows_in
        self.rows_exchanged += below.rows_exchanged
        self.bytes_spilled += below.bytes_spilled
        self.blocks_local += below.blocks_local
        self.blocks_remote += below.blocks_remote
        self.operators += below.operators

    def add(self, task: TaskMetrics) -> None:
        """Add the figures of a task, or of its successful attempt."""
        self.add_reads(task)
        self.read.merge(task.read)
        self.rows_out += task.rows_out
        self.blocks_rebuilt += task.blocks_rebuilt


@dataclass(frozen=True, slots=True)
class TaskData:
    """Data of a task: its own part, and by exchange id the payloads and broadcasts."""

    part: TaskInput = field(default_factory=TaskInput)
    payloads: Mapping[int, Sequence[pa.Buffer]] = field(default_factory=dict)
    broadcasts: Mapping[int, pa.Table] = field(default_factory=dict)
    decoded_limit: int = DECODED_BYTES
    """Limit on the decoded bytes of one relation of blocks. The rest is decoded during the scan."""
    threads: int = 1
    rebuild: Rebuild | None = None
    connections: Connections | None = None
    """Connections for the queries that feed steps."""
    statement: Cancellation | None = None
    """Cancellation of the task from outside, for steps that run other work."""
    given: Mapping[str, Iterable[object]] = field(default_factory=dict)
    """Rows passed to the task by Python programs, by relation. They can be read once."""
    number: int = 0
    """Number of the task, for error messages."""


class BatchStream:
    """Batches that can be scanned repeatedly, by restarting the iterator.

    `failure` is the error that ended a scan.
    """

    def __init__(self, schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self.schema = schema
        self.failure: Exception | None = None
        self._make = batches

    def batches(self) -> Generator[pa.RecordBatch]:
        try:
            yield from self._make()
        except Exception as error:
            self.failure = error
            raise

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.reader().__arrow_c_stream__(requested_schema)  # type: ignore[no-untyped-call]


class ParquetScan(BatchStream):
    """Scan of files that DuckDB reads by the SELECT `sql`. Other readers get a stream of batches."""

    def __init__(self, sql: str, stream: BatchStream, note_read: Callable[[], None]) -> None:
        super().__init__(stream.schema, stream.batches)
        self.sql = sql
        self.note_read = note_read


BlockRows = Any
"""Positions of the needed rows of a block, as an Arrow array in order; None: all rows."""
Relation = list[pa.Table | BatchStream]
"""Parts of a relation with one logical schema; their physical Arrow types may differ."""


def open_input(
    spec: DataInput | KernelColumns,
    data: TaskData,
    metrics: TaskMetrics,
    rows: Sequence[BlockRows] | None = None,
    tables: Sequence[LookupTable] = (),
) -> Relation:
    """Open the relation of `spec` in this task.

    `rows` are the needed rows of each block; None: all of all. `tables` belong to the lookups of a kernel.
    """
    match spec:
        case BlockColumns(relation):
            handles = dict(data.part.blocks).get(relation, ())
            if not handles:
                return [_no_rows(spec.passed_on() if spec.passed else spec)]
            metrics.rows_in += sum(handle.num_rows for handle in handles)
            count_places(handles, metrics)
            if spec.passed:
                return [_passed_rows(spec.passed_on(), handles, data, rows or (None,) * len(handles))]
            return _read_blocks(spec, handles, data, rows or (None,) * len(handles))
        case KernelColumns():
            from sharkpy.execution.tasks.kernel_rows import open_kernel

            return [open_kernel(spec, data, metrics, rows, tables)]
        case FileColumns(relation):
            return [_files(spec, dict(data.part.splits).get(relation, ()), metrics, data)]
        case ExchangeColumns(_, exchange_id, schema, spread):
            table = read_payloads(data.payloads.get(exchange_id, ()), arrow_schema(schema), spread)
            metrics.rows_in += table.num_rows
            metrics.rows_exchanged += table.num_rows
            return [table]
        case BroadcastColumns(_, exchange_id):
            if exchange_id not in data.broadcasts:
                raise InternalError(f"broadcast {exchange_id} was not sent to the task")
            return [data.broadcasts[exchange_id]]
        case GivenColumns():
            return [_program_rows(spec, data, metrics)]


@contextmanager
def registered_inputs(connection: DuckDBPyConnection, relations: Mapping[str, Relation]) -> Iterator[InputQuery]:
    """Register `relations` for queries on `connection`, and yield the function that makes a query read them.

    A stream's own error is raised instead of DuckDB's error about it.
    """
    sources: list[object] = []
    try:
        tables = {name: _table(connection, relation, sources) for name, relation in relations.items()}
        yield partial(_with_names, tables)
    except Exception as error:
        parts = list(itertools.chain.from_iterable(relations.values()))
        for part in parts:
            if isinstance(part, BatchStream) and part.failure is not None:
                raise part.failure from error
        if isinstance(found := as_shark_error(error), InvalidTextError):
            raise found from error
        if type(error).__name__ in _FILE_FAULTS:
            _read_again([part for part in parts if isinstance(part, ParquetScan)])
        raise
    finally:
        # DuckDB forgets an input with the last reference to its source.
        sources.clear()


def _table(connection: DuckDBPyConnection, relation: Relation, sources: list[object]) -> str:
    """Return a relation as a table of a FROM clause. Registered sources are added to `sources`.

    `DuckDBPyConnection.register` would create a view, in a transaction. That takes 0.4 ms for each relation.
    """
    from duckdb import _seam

    if isinstance(relation[0], ParquetScan):
        relation[0].note_read()
        return f"({relation[0].sql})"
    found = [_seam.register_source(connection, part) for part in relation]
    sources += found
    return _united([source.name for source in found])


def query_over(sql: str, names: Mapping[str, Sequence[str]]) -> str:
    """Return the query that reads registered sources, whose names are given by relation and part."""
    return _with_names({relation: _united(parts) for relation, parts in names.items()}, sql)


def _with_names(tables: Mapping[str, str], sql: str) -> str:
    return _NAMES.sub(lambda found: tables.get(found[0], found[0]), sql)


def _united(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"({' UNION ALL '.join(f'SELECT * FROM {name}' for name in names)})"


def _read_again(scans: Iterable[ParquetScan]) -> None:
    """Read the files with the engine's own reader, whose error names the file on which DuckDB failed."""
    for scan in scans:
        for _ in scan.batches():
            pass


def relation_batches(relation: Relation) -> Iterator[pa.RecordBatch]:
    for part in relation:
        yield from part.batches() if isinstance(part, BatchStream) else part.to_batches()


def count_places(handles: Sequence[BlockHandle], metrics: TaskMetrics) -> None:
    for handle in handles:
        if handle.host:
            is_here = is_same_host(handle.host)
            metrics.blocks_local += is_here
            metrics.blocks_remote += not is_here


def _read_blocks(
    spec: BlockColumns, handles: Sequence[BlockHandle], data: TaskData, rows: Sequence[BlockRows]
) -> Relation:
    """Read blocks into one table per physical schema. Blocks with equal encodings are concatenated without copying.

    Blocks beyond the limit of decoded bytes are streamed; mapped columns do not count.
    """
    from sharkpy.columnar.store import open_block
    from sharkpy.physical.integer_columns import decoded_bytes, with_keys

    def read(place: int) -> pa.Table:
        handle = handles[place]
        try:
            table = _table_of(blocks[place], spec, rows[place])
        except CorruptionError as error:
            rebuild_for(error, handle, data)
            blocks[place] = open_block(handle)
            table = _table_of(blocks[place], spec, rows[place])
        return _with_calls(with_keys(_sampled(table, spec, handle), spec), spec)

    groups: dict[pa.Schema, list[pa.Table]] = defaultdict(list)
    # Damage is found before the first row if possible.
    blocks = [read_or_rebuild(open_block, handle, data) for handle in handles]
    size = num_read = 0
    with contextlib.closing(_read_in_parallel(read, _sizes(blocks, rows), data.threads)) as read_tables:
        for table in read_tables:
            groups[table.schema.remove_metadata()].append(table.replace_schema_metadata(None))
            size += decoded_bytes(blocks[num_read], table)
            num_read += 1
            if size > data.decoded_limit:
                break
    tables: Relation = [pa.concat_tables(tables) for tables in groups.values()]
    return tables if num_read == len(blocks) else [*tables, _stream_blocks(spec, handles[num_read:], data)]


def _passed_rows(
    spec: BlockColumns, handles: Sequence[BlockHandle], data: TaskData, rows: Sequence[BlockRows]
) -> BatchStream:
    """Return a stream of the needed rows that reads a few blocks at once, since a query's answer may be large."""
    from sharkpy.columnar.store import open_block

    schema = _no_rows(spec).schema

    def read(place: int) -> pa.Table:
        table = read_or_rebuild(lambda one: _table_of(open_block(one), spec, rows[place]), handles[place], data)
        return cast_table(table, schema)

    def batches() -> Iterator[pa.RecordBatch]:
        tables = _read_in_parallel(read, _sizes(handles, rows), data.threads)
        return (batch for table in tables for batch in table.to_batches())

    return BatchStream(schema, batches)


def _table_of(block: Block, spec: BlockColumns, needed: BlockRows) -> pa.Table:
    from sharkpy.physical.integer_columns import read_block, read_rows

    if not spec.names:
        return _rows_only(block.num_rows if needed is None else len(needed))
    return read_block(block, spec) if needed is None else read_rows(block, spec, needed)


def _sizes(blocks: Sequence[Block | BlockHandle], rows: Sequence[BlockRows]) -> list[int]:
    return [one.num_rows if needed is None else len(needed) for one, needed in zip(blocks, rows, strict=True)]


def _read_in_parallel(read: Callable[[int], pa.Table], rows: Sequence[int], threads: int) -> Generator[pa.Table]:
    """Yield the table of each block, reading several large ones at once. `rows` has each block's number of rows."""
    places = range(len(rows))
    if threads == 1 or sum(rows) < _LARGE_ROWS:
        yield from map(read, places)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="sharkpy-read") as pool:
        for start in range(0, len(rows), 2 * threads):
            reads = [submit(pool, read, place) for place in places[start : start + 2 * threads]]
            yield from (one.result() for one in reads)


def _stream_blocks(spec: BlockColumns, handles: Sequence[BlockHandle], data: TaskData) -> BatchStream:
    """Return a stream that decodes blocks one by one, again for each scan."""
    from sharkpy.columnar.store import open_block
    from sharkpy.physical.integer_columns import decode_block, with_keys

    schema = _no_rows(spec).schema

    def read(handle: BlockHandle) -> pa.Table:
        table = with_keys(_sampled(decode_block(open_block(handle), spec), spec, handle), spec)
        return cast_table(_with_calls(table, spec), schema)

    def batches() -> Iterator[pa.RecordBatch]:
        for handle in handles:
            yield from read_or_rebuild(read, handle, data).to_batches()

    return BatchStream(schema, batches)


def _sampled(table: pa.Table, spec: BlockColumns, handle: BlockHandle) -> pa.Table:
    """Return a block's rows that are in the scan's sample."""
    if spec.sample is None:
        return table
    return table.filter(pa.array(spec.sample.chooser(handle.block_id)(table.num_rows)))


def _with_calls(table: pa.Table, spec: BlockColumns) -> pa.Table:
    """Return a block's rows with the results of the called functions."""
    for called in spec.called:
        (routine,) = called.use.function.routines(called.use)
        types = map(to_arrow, called.use.types)
        columns = [table[name].cast(dtype, safe=False) for name, dtype in zip(called.args, types, strict=True)]
        args = pa.table(columns, list(map(str, range(len(columns)))))
        results = [routine.run(part.columns, part.num_rows) for part in checked(args.to_batches(_CALLED_ROWS))]
        target: Any = to_arrow(called.use.result)
        table = table.append_column(called.alias, pa.chunked_array(results, target))
    return table


def _no_rows(spec: BlockColumns) -> pa.Table:
    from sharkpy.physical.integer_columns import ARROW_TYPES

    if not spec.names:
        return _rows_only(0)
    if len(spec.schema) != len(spec.names):
        raise InternalError(f'relation "{spec.relation}" has neither blocks nor types')
    forms = spec.forms or ("",) * len(spec.names)
    types = [
        ARROW_TYPES[form] if form else to_arrow(field.dtype) for form, field in zip(forms, spec.schema, strict=True)
    ]
    called = [(one.alias, to_arrow(one.use.result)) for one in spec.called]
    return pa.Table.from_batches([], pa.schema([*zip(spec.aliases, types, strict=True), *called]))


def _rows_only(num_rows: int) -> pa.Table:
    """Return a table of rows without data. It has one unused column, as DuckDB needs a column to see rows."""
    return pa.table({"_": arrow_buffers.true_values(num_rows)})


def _files(spec: FileColumns, splits: Sequence[Split], metrics: TaskMetrics, data: TaskData) -> BatchStream:
    from sharkpy.execution.tasks.parquet_scan import note_files, parquet_query

    def note_read() -> None:
        metrics.rows_in += note_files(spec, splits, metrics.read)

    stream = _read_splits(spec, splits, metrics, data.threads)
    if data.statement is not None:
        # DuckDB's own threads pull the rows, and making them may wait for a store or process, or take long.
        stream = BatchStream(stream.schema, partial(_cancellable_batches, data.statement, stream))
    query = parquet_query(spec, splits)
    return stream if query is None else ParquetScan(query, stream, note_read)


def _cancellable_batches(statement: Cancellation, stream: BatchStream) -> Iterator[pa.RecordBatch]:
    return statement.steps(stream.batches())


def _read_splits(spec: FileColumns, splits: Sequence[Split], metrics: TaskMetrics, threads: int) -> BatchStream:
    from sharkpy.sources.split_rows import read_split, read_splits

    columns = list(zip(spec.aliases, arrow_schema(spec.schema.select(spec.names)), strict=True))
    schema = pa.schema([(alias, field.type) for alias, field in columns] or [("_", pa.bool_())])

    def read(split: Split, counted: ReadMetrics) -> Iterator[pa.RecordBatch]:
        return read_split(split, spec.schema, spec.names, counted)

    def batches() -> Iterator[pa.RecordBatch]:
        for split, parts in itertools.groupby(read_splits(splits, read, metrics.read, threads), itemgetter(0)):
            origin = f"{split.partition}/{Path(split.path).name}:{split.start}"
            choose = spec.sample.chooser(origin) if spec.sample else None
            for _, batch in parts:
                metrics.rows_in += batch.num_rows
                arrays = batch.columns or [arrow_buffers.true_values(batch.num_rows)]
                rows = pa.RecordBatch.from_arrays(arrays, schema=schema)
                yield rows if choose is None else rows.filter(pa.array(choose(rows.num_rows)))

    return BatchStream(schema, batches)


def _program_rows(spec: GivenColumns, data: TaskData, metrics: TaskMetrics) -> BatchStream:
    """Stream the rows of a Python program, which can be read once. Reading ends with the statement."""
    schema = arrow_schema(spec.schema)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in spec.read(raised_by(spec.label, checked(data.given[spec.relation])), data.number):
            metrics.rows_in += batch.num_rows
            yield valid_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))

    return BatchStream(schema, batches)

"""Writing of rows into blocks that are matrices: cast, checked and stored without a Python object per row."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sharkpy.base.cancellation import check_cancelled, submit
from sharkpy.base.errors import InternalError
from sharkpy.columnar import block_file
from sharkpy.columnar.block import EncodedBlock
from sharkpy.columnar.column_statistics import ColumnStatistics
from sharkpy.columnar.encoded_column import EncodedColumn
from sharkpy.columnar.encodings import uncompressed
from sharkpy.columnar.encodings.matrix import NotFinite, encode_matrix
from sharkpy.execution.tasks.report import BlockResult
from sharkpy.execution.tasks.sinks import SinkContext, block_tables
from sharkpy.physical.stage_program import BlockColumns, BlockSink, MatrixLayout, StageProgram, TaskInput
from sharkpy.values.types import DOUBLE, FLOAT

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from sharkpy.execution.tasks.inputs import TaskData

FEATURES = "features"
LABEL = "label"
"""Names of a matrix block's columns."""

Array = np.ndarray[Any, np.dtype[Any]]
Query = Callable[["TaskData", "DuckDBPyConnection"], AbstractContextManager[Iterator[pa.RecordBatch]]]
"""Context manager that runs a task's program over some data and yields its rows."""


def write_matrix_blocks(
    program: StageProgram,
    sink: BlockSink,
    data: TaskData,
    connection: DuckDBPyConnection,
    context: SinkContext,
    query: Query,
) -> Iterator[BlockResult]:
    """Write blocks of at most `block_rows`.

    Raise DataError, and leave no block, if a value is missing or infinite.
    """
    if sink.layout is None:
        raise InternalError("a sink without the layout of a matrix")
    if not sink.layout.is_by_source:
        with query(data, connection) as batches:
            yield from _stored(batches, sink, context, None)
        return

    def write(source: TaskData) -> list[BlockResult]:
        ((_, (block,)),) = source.part.blocks
        with _connection(program, data, connection, is_alone=threads == 1) as own, query(source, own) as batches:
            return list(_stored(batches, sink, context, block.block_id))

    sources = [replace(data, part=part, threads=1) for part in _parts_of_blocks(program, data.part)]
    threads = min(data.threads, len(sources)) or 1
    if threads == 1:
        for source in sources:
            yield from write(source)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="sharkpy-matrix") as pool:
        runs = [submit(pool, write, source) for source in sources]
        yield from _in_order(runs, context)


def _in_order(runs: Sequence[Any], context: SinkContext) -> Iterator[BlockResult]:
    """Yield the results of all runs.

    If a run failed, remove all blocks after the other runs have ended, and raise its error.
    """
    failure: BaseException | None = None
    results: list[BlockResult] = []
    for run in runs:
        if failure is not None and run.cancel():
            continue
        try:
            results += run.result()
        except BaseException as error:  # noqa: BLE001 - it is raised below
            failure = failure or error
    if failure is not None:
        for result in results:
            context.writer.remove(result.handle)
        raise failure
    yield from results


@contextmanager
def _connection(
    program: StageProgram, data: TaskData, connection: DuckDBPyConnection, *, is_alone: bool
) -> Generator[DuckDBPyConnection]:
    """Yield a connection for this thread if other threads work at the same time, else the given one."""
    if is_alone or data.connections is None:
        yield connection
        return
    with data.connections(program) as own:
        yield own


def _parts_of_blocks(program: StageProgram, part: TaskInput) -> list[TaskInput]:
    (spec,) = program.inputs
    if not isinstance(spec, BlockColumns):
        raise InternalError("a program that is to run for each block reads something else")
    return [TaskInput(((spec.relation, (handle,)),)) for handle in dict(part.blocks).get(spec.relation, ())]


def _stored(
    batches: Iterable[pa.RecordBatch], sink: BlockSink, context: SinkContext, source: str | None
) -> Iterator[BlockResult]:
    written: list[BlockResult] = []
    try:
        for table in block_tables(batches, sink.schema, sink.block_rows, context.block_bytes):
            check_cancelled()
            result = _write(table, sink, context)
            if result is not None:
                written.append(replace(result, source=None if source is None else (source, len(written))))
                yield written[-1]
    except GeneratorExit:
        raise
    except BaseException:
        for result in written:
            context.writer.remove(result.handle)
        raise


def _write(table: pa.Table, sink: BlockSink, context: SinkContext) -> BlockResult | None:
    """Write a block; return None if no row is left."""
    assert sink.layout is not None
    encoded = encode_matrix_block(table, sink.layout)
    if not encoded.num_rows:
        return None
    handle = context.writer.write(encoded, sink.durable_dir)
    checksum = block_file.content_digest(encoded.pieces[-1]) if sink.is_checked else None
    return BlockResult(replace(handle, checksum=checksum), encoded.statistics, context.partition)


def encode_matrix_block(table: pa.Table, layout: MatrixLayout) -> EncodedBlock:
    """Encode a block. Raise DataError, naming a column and the number of its missing or infinite values."""
    features, labels = float_columns(table, layout)
    columns = {FEATURES: encode_matrix(features)}
    if labels is not None:
        columns[LABEL] = uncompressed.encode_array(pa.array(labels), DOUBLE if labels.dtype == np.float64 else FLOAT)
    num_rows = len(features[0])
    statistics = [(name, _statistics(column)) for name, column in columns.items()]
    return EncodedBlock.of(block_file.serialize(num_rows, columns, statistics), columns)


def matrix_of(table: pa.Table, layout: MatrixLayout) -> tuple[Array, Array | None]:
    """Return the features as an array of shape (rows, features) with contiguous columns, and the label."""
    features, labels = float_columns(table, layout)
    matrix = np.empty((len(features[0]), len(features)), layout.dtype, order="F")
    for target, values in zip(matrix.T, features, strict=True):
        target[:] = values
    return matrix, labels


def float_columns(table: pa.Table, layout: MatrixLayout) -> tuple[list[Array], Array | None]:
    """Return the features and the label, each of shape (rows,), converted and checked by `layout`.

    They are not copied if they have the right form already. Raise DataError, naming a column and the number of its
    missing or infinite values.
    """
    columns = [as_floats(column, np.dtype(layout.dtype)) for column in table.columns]
    if layout.drops_missing:
        columns = _complete_rows(columns)
    found = [NotFinite.of(column.reshape(-1, 1)) for column in columns]
    if layout.fills:
        for number, (fill, counts) in enumerate(zip(layout.fills, found, strict=False)):
            if counts.missing.any():
                columns[number] = np.where(np.isnan(columns[number]), columns[number].dtype.type(fill), columns[number])
                found[number] = NotFinite.of(columns[number].reshape(-1, 1))
    kinds = ["column"] * len(columns)
    if layout.has_label:
        kinds[-1] = "label"
    for name, counts, kind in zip(table.column_names, found, kinds, strict=True):
        counts.check([name], kind=kind)
    return (columns[:-1], columns[-1]) if layout.has_label else (columns, None)


def _complete_rows(columns: list[Array]) -> list[Array]:
    """Remove the rows in which a value is missing."""
    if not any(NotFinite.of(column.reshape(-1, 1)).missing.any() for column in columns):
        return columns
    kept = ~np.isnan(np.stack(columns)).any(axis=0)
    return [column[kept] for column in columns]


def _statistics(column: EncodedColumn) -> ColumnStatistics:
    """Return statistics of a column with only rows and bytes, as these blocks are never pruned."""
    return ColumnStatistics(column.dtype, column.num_rows, 0, exact=False, size_bytes=column.size_bytes)


def as_floats(column: pa.ChunkedArray[Any], dtype: np.dtype[Any]) -> Array:
    """Return the values as contiguous floats of shape (rows,); NULL becomes NaN."""
    found = [np.ascontiguousarray(_numbers(chunk), dtype) for chunk in column.chunks]
    return found[0] if len(found) == 1 else np.concatenate(found)


def _numbers(chunk: pa.Array[Any]) -> Array:
    if pa.types.is_decimal(chunk.type) or (chunk.null_count and not pa.types.is_floating(chunk.type)):
        chunk = chunk.cast(pa.float64())
    if chunk.null_count:
        chunk = chunk.fill_null(float("nan"))
    return chunk.to_numpy(zero_copy_only=False)

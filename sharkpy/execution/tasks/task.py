"""Running a stage's program over one part of the data, with the same code in the driver and in workers."""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
from duckdb import _seam

from sharkpy.base.cancellation import Cancellation, checked
from sharkpy.base.errors import InternalError
from sharkpy.base.records import dataclass
from sharkpy.columnar.compiled import import_numba
from sharkpy.execution.tasks.buckets import bucketed_sql, hashed_sql
from sharkpy.execution.tasks.error_conversion import as_shark_error
from sharkpy.execution.tasks.exchange_writer import exchange_payloads
from sharkpy.execution.tasks.inputs import (
    Relation,
    TaskData,
    TaskMetrics,
    open_input,
    registered_inputs,
    relation_batches,
)
from sharkpy.execution.tasks.lookup_tables import lookup_tables
from sharkpy.execution.tasks.matrix_blocks import write_matrix_blocks
from sharkpy.execution.tasks.partitioned_writes import (
    in_form,
    write_bucketed_blocks,
    write_bucketed_files,
    write_partitioned_files,
)
from sharkpy.execution.tasks.planned_queries import planned_query
from sharkpy.execution.tasks.rebuilt_reads import rebuilding
from sharkpy.execution.tasks.reduced_inputs import reduced_inputs
from sharkpy.execution.tasks.report import BlockResult, FileResult, read_figures, spilled_bytes
from sharkpy.execution.tasks.shared_scans import SharedScan, shared_scans, with_shared_scans, with_splits
from sharkpy.execution.tasks.sinks import (
    Payload,
    SinkContext,
    conform,
    single_payloads,
    write_blocks,
    write_files,
)
from sharkpy.execution.tasks.small_files import small_tables
from sharkpy.execution.tasks.steps.step_stream import StepStream
from sharkpy.physical.stage_program import (
    BlockSink,
    BroadcastSink,
    Bucketing,
    FileSink,
    HashSink,
    MatrixLayout,
    RangeSink,
    ResultSink,
    SingleSink,
    StageProgram,
    StepColumns,
)
from sharkpy.udf.duckdb_routines import install_functions
from sharkpy.values.types import arrow_schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BATCH_ROWS = 65_536


def run_task(
    program: StageProgram,
    data: TaskData,
    connection: DuckDBPyConnection,
    context: SinkContext,
    metrics: TaskMetrics,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[Payload | BlockResult | FileResult]:
    """Run a task and yield the output of the program's sink. Every failure is a SharkError."""
    schema = arrow_schema(program.output)
    try:
        match program.sink:
            case HashSink() | RangeSink() as sink:
                keyed = partial(_exchange_sql, sink, connection)
                with _keyed_batches(program, keyed, data, connection, metrics, batch_rows) as batches:
                    yield from exchange_payloads(batches, schema, sink, context, metrics)
            case SingleSink() | BroadcastSink() | ResultSink():
                with task_batches(program, data, connection, metrics, batch_rows) as batches:
                    yield from single_payloads(batches, schema, context.exchange_id)
            case BlockSink(layout=MatrixLayout()) as sink:
                query = partial(_query_batches, program, metrics=metrics, batch_rows=batch_rows)
                yield from write_matrix_blocks(program, sink, data, connection, context, query)
            case BlockSink(buckets=Bucketing() as buckets) as sink:
                keyed = partial(_bucket_sql, program, buckets, connection)
                with _keyed_batches(program, keyed, data, connection, metrics, batch_rows) as batches:
                    yield from write_bucketed_blocks(batches, sink, buckets.num_buckets, context)
            case FileSink(buckets=Bucketing() as buckets) as sink:
                keyed = partial(_bucket_sql, program, buckets, connection)
                with _keyed_batches(program, keyed, data, connection, metrics, batch_rows) as batches:
                    yield from write_bucketed_files(batches, sink, buckets.num_buckets, context)
            case BlockSink() as sink:
                with task_batches(program, data, connection, metrics, batch_rows) as batches:
                    yield from write_blocks(batches, sink, context)
            case FileSink() as sink if sink.partition_columns:
                with task_batches(program, data, connection, metrics, batch_rows) as batches:
                    yield from write_partitioned_files(batches, sink, context)
            case FileSink() as sink:
                with task_batches(program, data, connection, metrics, batch_rows) as batches:
                    yield from write_files(*in_form(batches, sink, ""), context)
    except GeneratorExit:
        raise
    except BaseException as error:
        raise as_shark_error(error) from error


def _exchange_sql(sink: HashSink | RangeSink, connection: DuckDBPyConnection, sql: str) -> str:
    """Return the query of an exchange's rows with the hash of their key, or their range."""
    return hashed_sql(sql, sink) if isinstance(sink, HashSink) else bucketed_sql(sql, sink, connection)


def _bucket_sql(program: StageProgram, buckets: Bucketing, connection: DuckDBPyConnection, sql: str) -> str:
    """Return the query of a bucketed table's rows with their bucket."""
    names = program.output.names
    sink = HashSink(tuple(names[position] for position in buckets.keys), buckets.num_buckets)
    return bucketed_sql(sql, sink, connection)


@contextmanager
def task_batches(
    program: StageProgram,
    data: TaskData,
    connection: DuckDBPyConnection,
    metrics: TaskMetrics,
    batch_rows: int = BATCH_ROWS,
) -> Generator[Iterator[pa.RecordBatch]]:
    """Yield the program's rows as streamed batches with the names and Arrow types of its output."""
    schema = arrow_schema(program.output)
    with _opened(program, data, connection, metrics, batch_rows) as inputs:
        if not program.sql:
            yield _counted(_pass_through(inputs.relations, schema), metrics)
            return
        program = inputs.program
        with _query(connection, inputs, program, program.sql, metrics, batch_rows) as reader:
            yield _counted((conform(batch, schema) for batch in reader), metrics)


@contextmanager
def _query_batches(
    program: StageProgram, data: TaskData, connection: DuckDBPyConnection, metrics: TaskMetrics, batch_rows: int
) -> Generator[Iterator[pa.RecordBatch]]:
    """Yield the program's rows in the query's types, with separate counts for this thread."""
    own = metrics.for_subquery()
    with _opened(program, data, connection, own, batch_rows) as inputs:
        if not program.sql:
            yield _counted(relation_batches(next(iter(inputs.relations.values()))), own)
        else:
            program = inputs.program
            with _query(connection, inputs, program, program.sql, own, batch_rows) as reader:
                yield _counted(iter(reader), own)
    metrics.add_reads(own)
    metrics.rows_out += own.rows_out


@contextmanager
def _keyed_batches(
    program: StageProgram,
    keyed_sql: Callable[[str], str],
    data: TaskData,
    connection: DuckDBPyConnection,
    metrics: TaskMetrics,
    batch_rows: int,
) -> Generator[Iterator[pa.RecordBatch]]:
    """Yield the rows with the last column that `keyed_sql` adds: the hash of their key, or their bucket."""
    with _opened(program, data, connection, metrics, batch_rows) as inputs:
        program = inputs.program
        sql = keyed_sql(program.sql or f"SELECT * FROM {program.inputs[0].relation}")
        with _query(connection, inputs, program, sql, metrics, batch_rows) as reader:
            yield _counted(iter(reader), metrics)


@dataclass(frozen=True, slots=True)
class _Inputs:
    """Relations that `program` reads."""

    program: StageProgram
    relations: dict[str, Relation]
    shared: list[SharedScan]


@contextmanager
def _opened(
    program: StageProgram, data: TaskData, connection: DuckDBPyConnection, metrics: TaskMetrics, batch_rows: int
) -> Generator[_Inputs]:
    """Open the inputs of the program, or of the one without lookups, in this task. Steps run until the body ends."""
    handles = [handle for _, some in data.part.blocks for handle in some]
    reduced = rebuilding(lambda: reduced_inputs(program, data.part, connection, data.threads), handles, data)
    tables = rebuilding(lambda: lookup_tables(program, data.part, reduced, data.threads), handles, data)
    if tables is None:
        if program.otherwise is None:
            raise InternalError("a key of a lookup repeats, and there is no program without lookups")
        with _opened(program.otherwise, data, connection, metrics, batch_rows) as inputs:
            yield inputs
        return
    small = small_tables(program, data, metrics)
    shared = shared_scans(program, data, small)
    whole, of_shared = with_splits(data, shared), {scan.relation for one in shared for scan in one.scans}
    with contextlib.ExitStack() as steps:
        relations = {one.whole.relation: open_input(one.whole, whole, metrics) for one in shared}
        for spec in program.inputs:
            if spec.relation in of_shared:
                continue
            if isinstance(spec, StepColumns):
                read_below = partial(_read_below, spec.program, data, metrics, batch_rows)
                stream = StepStream(spec, read_below, data.statement, metrics)
                steps.callback(stream.close)
                relations[spec.relation] = [stream]
            elif spec.relation in small:
                relations[spec.relation] = [small[spec.relation]]
            else:
                found = tables.get(spec.relation, ())
                relations[spec.relation] = open_input(spec, data, metrics, reduced.get(spec.relation), found)
        yield _Inputs(program, relations, shared)


@contextmanager
def _read_below(
    program: StageProgram, data: TaskData, metrics: TaskMetrics, batch_rows: int, end: Cancellation
) -> Generator[Iterator[pa.RecordBatch]]:
    """Yield the rows of a step's input program, from a query of its own."""
    connections = data.connections
    if connections is None:
        raise InternalError("a task with a step has one connection only")
    below = metrics.for_subquery()
    # Steps of the input query end with the step that reads it.
    data = replace(data, statement=end)
    with connections(program) as connection:
        forget = end.on_cancel(connection.interrupt)
        try:
            with task_batches(program, data, connection, below, batch_rows) as batches:
                yield batches
        finally:
            forget()
            metrics.add_reads(below)


@contextmanager
def _query(
    connection: DuckDBPyConnection,
    inputs: _Inputs,
    program: StageProgram,
    sql: str,
    metrics: TaskMetrics,
    batch_rows: int,
) -> Generator[pa.RecordBatchReader]:
    steps = [part for relation in inputs.relations.values() for part in relation if isinstance(part, StepStream)]
    for step in steps:
        step.begin()
    install_functions(connection, program.functions)
    text = with_shared_scans(sql, inputs.shared)
    is_planned = not (metrics.is_profiled or program.functions)
    with (
        planned_query(connection, text, inputs.relations, metrics)
        if is_planned
        else contextlib.nullcontext() as execute,
        registered_inputs(connection, {} if execute else inputs.relations) as reading,
        _profiled(connection, program, metrics),
    ):
        reader = run_query(connection, execute or reading(text), batch_rows)
        with contextlib.closing(reader):
            try:
                yield reader
            finally:
                # The query's threads may wait for rows that are no longer needed.
                for step in steps:
                    step.stop()


@contextmanager
def _profiled(connection: DuckDBPyConnection, program: StageProgram, metrics: TaskMetrics) -> Generator[None]:
    """Add DuckDB's figures of the body's query to `metrics`, if wanted."""
    if not metrics.is_profiled:
        yield
        return
    connection.execute("PRAGMA enable_profiling = 'no_output'")
    try:
        yield
        text = connection.get_profiling_information(format="json")
        metrics.operators += read_figures(text, program.inputs)
        metrics.bytes_spilled += spilled_bytes(text)
    finally:
        connection.execute("PRAGMA disable_profiling")


def _pass_through(relations: dict[str, Relation], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    if len(relations) != 1:
        raise InternalError("a program without SQL has one input")
    for batch in checked(relation_batches(next(iter(relations.values())))):
        yield conform(batch, schema)


def _counted(batches: Iterator[pa.RecordBatch], metrics: TaskMetrics) -> Iterator[pa.RecordBatch]:
    """Count the batches' rows.

    Errors after the first rows are converted here: Arrow's reader raises OSError for them, which a file writer would
    take for its own error.
    """
    try:
        for batch in batches:
            metrics.rows_out += batch.num_rows
            yield batch
    except OSError as error:
        raise as_shark_error(error) from error


_TASK_MODULES = (
    "duckdb",
    "duckdb.func",
    "pandas",
    "dateutil.parser",
    "pyarrow.pandas_compat",
    "sharkpy.execution.spark.report_accumulator",
    "sharkpy.physical.integer_columns",
    "sharkpy.columnar.block",
    "sharkpy.columnar.store",
    "sharkpy.udf.connection",
)


def import_all() -> None:
    """Import all modules that tasks use, so that forked processes need not."""
    from sharkpy.sources.formats import SOURCES, source

    for name in _TASK_MODULES:
        # The task that needs a missing module reports it.
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for name in SOURCES:
        source(name)
    _load_numba()


def _load_numba() -> None:
    """Load the modules that numba needs for its first compiled function."""
    import_numba()
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


_FAULTY_OPTIMIZER = "projection_pullup"
_FAULT = "Failed to bind column reference"
"""Error of one optimizer pass of DuckDB 2.0 for some nested joins. Without the pass, TPC-H 18 takes twice as long."""
_lock = threading.Lock()


def run_query(connection: DuckDBPyConnection, sql: str, batch_rows: int) -> pa.RecordBatchReader:
    """Stream the rows of a SELECT. If the optimizer fails, plan again without the faulty pass."""
    try:
        return _reader(connection, sql, batch_rows)
    except duckdb.InternalException as error:
        if _FAULT not in str(error):
            raise
    # The setting is for the whole database, so other queries planned at this moment lack the pass too.
    with _lock, connection.cursor() as other:
        ((before,),) = other.execute("SELECT current_setting('disabled_optimizers')").fetchall()
        other.execute(f"SET disabled_optimizers = '{','.join(filter(None, (before, _FAULTY_OPTIMIZER)))}'")
        try:
            return _reader(connection, sql, batch_rows)
        finally:
            other.execute(f"SET disabled_optimizers = '{before}'")


def _reader(connection: DuckDBPyConnection, sql: str, batch_rows: int) -> pa.RecordBatchReader:
    """Return a reader like `connection.sql(sql).to_arrow_reader(batch_rows)`, which parses and binds the text twice.

    That takes 0.1 ms for SELECT 1, and 0.1 s for 2,000 expressions. No public method does it once without holding all
    rows.
    """
    reader: pa.RecordBatchReader = _seam.submit(connection, sql, None, "stream", batch_rows).arrow_reader()
    return reader

"""The inputs of a task as Arrow: blocks, file splits, exchange payloads and broadcasts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from sharkpy.columnar.handle import BlockHandle
from sharkpy.errors import InternalError
from sharkpy.execution.operator_figures import OperatorFigures
from sharkpy.physical.stage import (
    BlockColumns,
    BroadcastColumns,
    ExchangeColumns,
    FileColumns,
    StageInput,
    TaskInput,
)
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.split import Split
from sharkpy.types import arrow_schema, to_arrow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PAYLOAD_HEADER = 8
"""Bytes before the Arrow stream of a payload: the exchange's id, little endian."""


@dataclass(slots=True)
class TaskMetrics:
    """Figures of one task, counted while it runs."""

    rows_in: int = 0
    rows_out: int = 0
    bytes_out: int = 0
    read: ReadMetrics = field(default_factory=ReadMetrics)
    is_profiled: bool = False
    """Whether DuckDB is to measure each operator, for EXPLAIN ANALYZE."""
    operators: list[OperatorFigures] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TaskData:
    """All that a task reads: its own part, the payloads of exchanges and the broadcasts, by exchange id."""

    part: TaskInput = field(default_factory=TaskInput)
    payloads: Mapping[int, Sequence[pa.Buffer]] = field(default_factory=dict)
    broadcasts: Mapping[int, pa.Table] = field(default_factory=dict)


class BatchStream:
    """Batches that can be scanned again: each scan starts the iterator anew."""

    def __init__(self, schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self.schema = schema
        self.batches = batches

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.reader().__arrow_c_stream__(requested_schema)  # type: ignore[no-untyped-call]


Relation = list[pa.Table] | BatchStream
"""Tables of one logical schema whose physical Arrow types may differ, or a stream."""


def open_input(spec: StageInput, data: TaskData, metrics: TaskMetrics) -> Relation:
    """The relation behind `spec` in this task."""
    match spec:
        case BlockColumns(relation):
            handles = dict(data.part.blocks).get(relation, ())
            if not handles:
                return [_no_rows(spec)]
            return _count(_read_blocks(spec, handles), metrics)
        case FileColumns(relation):
            return _read_splits(spec, dict(data.part.splits).get(relation, ()), metrics)
        case ExchangeColumns(_, exchange_id, schema):
            return _count([read_payloads(data.payloads.get(exchange_id, ()), arrow_schema(schema))], metrics)
        case BroadcastColumns(_, exchange_id):
            if exchange_id not in data.broadcasts:
                raise InternalError(f"broadcast {exchange_id} was not sent to the task")
            return [data.broadcasts[exchange_id]]


@contextmanager
def registered_inputs(connection: DuckDBPyConnection, relations: Mapping[str, Relation]) -> Iterator[None]:
    """`relations` visible to SQL on `connection`, in a transaction of their own: dropped by one ROLLBACK."""
    connection.begin()
    try:
        for name, relation in relations.items():
            _register(connection, name, relation)
        yield
    finally:
        connection.rollback()


def _register(connection: DuckDBPyConnection, name: str, relation: Relation) -> None:
    if isinstance(relation, BatchStream) or len(relation) == 1:
        connection.register(name, relation if isinstance(relation, BatchStream) else relation[0])
        return
    parts = [f"{name}_{index}" for index in range(len(relation))]
    for part, table in zip(parts, relation, strict=True):
        connection.register(part, table)
    union = " UNION ALL ".join(f'SELECT * FROM "{part}"' for part in parts)
    connection.execute(f'CREATE OR REPLACE TEMPORARY VIEW "{name}" AS {union}')


def relation_batches(relation: Relation) -> Iterator[pa.RecordBatch]:
    if isinstance(relation, BatchStream):
        yield from relation.batches()
        return
    for table in relation:
        yield from table.to_batches()


def read_payloads(payloads: Sequence[pa.Buffer], schema: pa.Schema) -> pa.Table:
    """The rows of all payloads, without copying; columns take the names of `schema`."""
    tables = [pa.ipc.open_stream(payload.slice(PAYLOAD_HEADER)).read_all() for payload in payloads]
    tables = [table.rename_columns(schema.names) for table in tables if table.num_rows]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def _count(tables: list[pa.Table], metrics: TaskMetrics) -> list[pa.Table]:
    metrics.rows_in += sum(table.num_rows for table in tables)
    return tables


def _read_blocks(spec: BlockColumns, handles: Sequence[BlockHandle]) -> list[pa.Table]:
    """One table per physical schema: blocks with equal encodings are strung together without copying."""
    from sharkpy.columnar.store import open_block
    from sharkpy.physical.block_form import read_block

    groups: dict[pa.Schema, list[pa.Table]] = defaultdict(list)
    for handle in handles:
        block = open_block(handle)
        table = read_block(block, spec) if spec.names else _rows_only(block.num_rows)
        groups[table.schema.remove_metadata()].append(table.replace_schema_metadata(None))
    return [pa.concat_tables(tables) for tables in groups.values()]


def _no_rows(spec: BlockColumns) -> pa.Table:
    from sharkpy.physical.block_form import ARROW_TYPES

    if not spec.names:
        return _rows_only(0)
    if len(spec.schema) != len(spec.names):
        raise InternalError(f'relation "{spec.relation}" has neither blocks nor types')
    forms = spec.forms or ("",) * len(spec.names)
    types = [
        ARROW_TYPES[form] if form else to_arrow(field.dtype) for form, field in zip(forms, spec.schema, strict=True)
    ]
    return pa.schema(list(zip(spec.aliases, types, strict=True))).empty_table()


def _rows_only(num_rows: int) -> pa.Table:
    """A table of no columns has no rows for DuckDB: it gets one nobody asks for."""
    return pa.table({"_": pa.repeat(pa.scalar(True), num_rows)})


def _read_splits(spec: FileColumns, splits: Sequence[Split], metrics: TaskMetrics) -> BatchStream:
    from sharkpy.sources.registry import source

    names = spec.names or spec.schema.names[:1]
    aliases = spec.aliases or ("_",)
    schema = pa.schema(
        [(alias, field.type) for alias, field in zip(aliases, arrow_schema(spec.schema.select(names)), strict=True)]
    )

    def batches() -> Iterator[pa.RecordBatch]:
        for split in splits:
            for batch in source(split.format).read(split, spec.schema, names, metrics.read):
                metrics.rows_in += batch.num_rows
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)

    return BatchStream(schema, batches)

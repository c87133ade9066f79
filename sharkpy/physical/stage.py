"""What is shipped to a task: a program (one DuckDB query over named Arrow inputs) and its part of the data.

A stage is one `mapPartitions`: every task runs the same `StageProgram` over its own `TaskInput`s and
hands the resulting Arrow batches to the program's sink. Plain picklable data: no sessions, no plans.
"""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.columnar.handle import BlockHandle
from sharkpy.sources.split import Split
from sharkpy.types import Schema

_NO_SCHEMA = Schema(())


@dataclass(frozen=True, slots=True)
class BlockColumns:
    """An input relation of blocks: stored column `names[i]` appears in SQL as `aliases[i]`.

    `schema` has the logical types of `names`. `forms[i]`, where not "", is the DuckDB integer type in which
    column i is given as scaled integers (see `sharkpy.physical.block_form`); no `forms`: all are logical.
    """

    relation: str
    names: tuple[str, ...]
    aliases: tuple[str, ...]
    schema: Schema = _NO_SCHEMA
    forms: tuple[str, ...] = ()
    values: tuple[tuple[str | None, ...], ...] = ()
    """`values[i]`, where not empty: column i is given as indexes into it; its last item is None, for NULL."""


@dataclass(frozen=True, slots=True)
class FileColumns:
    """An input relation of file splits of a table with `schema`; columns as in BlockColumns."""

    relation: str
    schema: Schema
    names: tuple[str, ...]
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExchangeColumns:
    """An input relation read from a hash, range or single exchange: Arrow IPC payloads."""

    relation: str
    exchange_id: int
    schema: Schema


@dataclass(frozen=True, slots=True)
class BroadcastColumns:
    """An input relation that every task reads whole."""

    relation: str
    exchange_id: int
    schema: Schema


StageInput = BlockColumns | FileColumns | ExchangeColumns | BroadcastColumns


@dataclass(frozen=True, slots=True)
class ResultSink:
    """Arrow batches back to the driver, in the order of tasks."""


@dataclass(frozen=True, slots=True)
class HashSink:
    """Rows to `num_buckets` buckets by a stable hash of the columns `keys`; one IPC payload a bucket."""

    keys: tuple[str, ...]
    num_buckets: int


@dataclass(frozen=True, slots=True)
class RangeSink:
    """Rows to buckets by comparing with `bounds` (Arrow IPC bytes of boundary rows, sorted) on `keys`.

    A key is (column, ascending, nulls_first).
    """

    keys: tuple[tuple[str, bool, bool], ...]
    bounds: bytes
    num_buckets: int


@dataclass(frozen=True, slots=True)
class SingleSink:
    """All rows to one bucket."""


@dataclass(frozen=True, slots=True)
class BroadcastSink:
    """All rows to the driver, which broadcasts them."""


@dataclass(frozen=True, slots=True)
class BlockSink:
    """Rows to encoded blocks of the store; tasks return BlockHandles with their statistics."""

    schema: Schema
    block_rows: int
    durable_dir: str | None


@dataclass(frozen=True, slots=True)
class FileSink:
    """Rows to files in `directory` (a staging folder); tasks return (path, rows, bytes)."""

    schema: Schema
    format: str
    properties: tuple[tuple[str, str], ...]
    directory: str


StageSink = ResultSink | HashSink | RangeSink | SingleSink | BroadcastSink | BlockSink | FileSink


@dataclass(frozen=True, slots=True)
class StageProgram:
    """`sql` reads the inputs' relations and yields columns `output` (names as in the SQL).

    An empty `sql` passes the only input through as it is.
    """

    sql: str
    inputs: tuple[StageInput, ...]
    output: Schema
    sink: StageSink


@dataclass(frozen=True, slots=True)
class TaskInput:
    """One task's part of the data, by relation: its blocks or file splits. Exchange inputs arrive apart."""

    blocks: tuple[tuple[str, tuple[BlockHandle, ...]], ...] = ()
    splits: tuple[tuple[str, tuple[Split, ...]], ...] = ()

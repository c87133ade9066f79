"""What is shipped to a task: a program (one DuckDB query over named Arrow inputs) and its part of the data.

A stage is one `mapPartitions`: every task runs the same `StageProgram` over its own `TaskInput`s and
hands the resulting Arrow batches to the program's sink. Plain picklable data: no sessions, no plans.
"""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.model import StorageFormat
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.key_bits import KeyBits
from sharkpy.plan.given_rows import RowReader
from sharkpy.plan.row_sample import RowSample
from sharkpy.plan.steps.row_step import RowStep
from sharkpy.sources.split import Split
from sharkpy.udf.user.function import FunctionUse
from sharkpy.values.types import DataType, Schema

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
    keys: tuple[tuple[str, KeyBits], ...] = ()
    """Rows whose stored column, an integer, is not in the set may be left out."""
    sample: RowSample | None = None


@dataclass(frozen=True, slots=True)
class FileColumns:
    """An input relation of file splits of a table with `schema`; columns as in BlockColumns."""

    relation: str
    schema: Schema
    names: tuple[str, ...]
    aliases: tuple[str, ...]
    sample: RowSample | None = None


@dataclass(frozen=True, slots=True)
class ExchangeColumns:
    """An input relation read from a hash, range or single exchange: Arrow IPC payloads."""

    relation: str
    exchange_id: int
    schema: Schema
    spread: frozenset[int] | None = None
    """Hashes of the keys whose rows may lie in spread buckets, where the task reads such buckets one by one."""


@dataclass(frozen=True, slots=True)
class BroadcastColumns:
    """An input relation that every task reads whole."""

    relation: str
    exchange_id: int
    schema: Schema


@dataclass(frozen=True, slots=True)
class GivenColumns:
    """An input relation of rows that a Python program hands over: `read` makes batches of those of a part.

    `label` says in errors where they come from.
    """

    relation: str
    schema: Schema
    label: str
    read: RowReader


@dataclass(frozen=True, slots=True)
class StepColumns:
    """An input relation that `step` makes, in the same task, of the rows of another query.

    The first `num_passed` columns of `program` and of `schema` are the ones that the step hands on.
    """

    relation: str
    step: RowStep
    program: StageProgram
    num_passed: int
    schema: Schema


DataInput = BlockColumns | FileColumns | ExchangeColumns | BroadcastColumns | GivenColumns
StageInput = DataInput | StepColumns


@dataclass(frozen=True, slots=True)
class ResultSink:
    """Arrow batches back to the driver, in the order of tasks."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How an exchange treats keys that many of its rows share (SPEC P4): their rows are dealt over spread buckets.

    `min_rows`: rows of one key in one task from which it counts as heavy. `is_forced`: every key does (tests).
    `kept`: hashes of keys whose rows stay together, as the join's other side has spread them.
    """

    num_buckets: int
    min_rows: int
    is_forced: bool = False
    kept: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class HashSink:
    """Rows to `num_buckets` buckets by a stable hash of the columns `keys`; one IPC payload a bucket.

    The buckets of `spread` come behind those.
    """

    keys: tuple[str, ...]
    num_buckets: int
    spread: Spread | None = None

    @property
    def all_buckets(self) -> int:
        return self.num_buckets + (self.spread.num_buckets if self.spread else 0)


@dataclass(frozen=True, slots=True)
class RangeSink:
    """Rows to buckets by comparing with `bounds` (Arrow IPC bytes of boundary rows, sorted) on `keys`.

    A key is (column, ascending, nulls_first); `types` are those of the keys, none where all are plain.
    """

    keys: tuple[tuple[str, bool, bool], ...]
    bounds: bytes
    num_buckets: int
    types: tuple[DataType, ...] = ()


@dataclass(frozen=True, slots=True)
class SingleSink:
    """All rows to one bucket."""


@dataclass(frozen=True, slots=True)
class BroadcastSink:
    """All rows to the driver, which broadcasts them."""


@dataclass(frozen=True, slots=True)
class Bucketing:
    """Rows apart by the bucket of the columns at the positions `keys`, as a HashSink deals them out."""

    keys: tuple[int, ...]
    num_buckets: int


@dataclass(frozen=True, slots=True)
class MatrixLayout:
    """Blocks of one matrix: columns, of any numeric types, become floats; the last one is apart where `has_label`.

    A missing value (NULL, NaN) is refused, unless `drops_missing` leaves out its row or `fills` has, for each feature,
    what takes its place. `is_by_source`: the rows of each scanned block go to blocks of their own, whichever task
    reads it.
    """

    dtype: str
    has_label: bool
    drops_missing: bool = False
    fills: tuple[float, ...] = ()
    is_by_source: bool = False


@dataclass(frozen=True, slots=True)
class BlockSink:
    """Rows to encoded blocks of the store, with `buckets` of one bucket each, or in the `layout` of a matrix.

    Tasks return BlockHandles with their statistics, and with the checksum of the rows where `is_checked`.
    """

    schema: Schema
    block_rows: int
    durable_dir: str | None
    buckets: Bucketing | None = None
    is_checked: bool = False
    layout: MatrixLayout | None = None


@dataclass(frozen=True, slots=True)
class FileSink:
    """Rows to files in `directory` (a staging folder), with `buckets` of one bucket each.

    With `partition_columns`, the rows' last columns are the values of these as texts, sorted: they go to no file
    but name the folder of each, at most `max_partitions` a task. Tasks return (path, rows, bytes).

    `forms`: Hive partitions by the names of their folders in `directory` ("" for itself) whose files have a format
    and columns of their own.
    """

    schema: Schema
    format: str
    properties: tuple[tuple[str, str], ...]
    directory: str
    buckets: Bucketing | None = None
    partition_columns: tuple[str, ...] = ()
    max_partitions: int | None = None
    forms: tuple[tuple[str, StorageFormat, Schema], ...] = ()


StageSink = ResultSink | HashSink | RangeSink | SingleSink | BroadcastSink | BlockSink | FileSink


@dataclass(frozen=True, slots=True)
class StageProgram:
    """`sql` reads the inputs' relations and yields columns `output` (names as in the SQL).

    An empty `sql` passes the only input through as it is. Relations have one name in a program and those within it.
    """

    sql: str
    inputs: tuple[StageInput, ...]
    output: Schema
    sink: StageSink
    functions: tuple[FunctionUse, ...] = ()
    """The users' functions that the SQL calls."""

    @property
    def data_inputs(self) -> tuple[DataInput, ...]:
        """The inputs that bring data into the task: its own, and those of the programs within steps."""
        found: list[DataInput] = []
        for spec in self.inputs:
            if isinstance(spec, StepColumns):
                found += spec.program.data_inputs
            else:
                found.append(spec)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class TaskInput:
    """One task's part of the data, by relation: its blocks or file splits. Exchange inputs arrive apart."""

    blocks: tuple[tuple[str, tuple[BlockHandle, ...]], ...] = ()
    splits: tuple[tuple[str, tuple[Split, ...]], ...] = ()


NO_INPUT = TaskInput()

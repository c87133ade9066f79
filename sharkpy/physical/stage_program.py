"""Programs of stages: one DuckDB query over named Arrow inputs, with the sink of its rows; and a task's inputs.

Each task of a stage runs the same `StageProgram` over its own `TaskInput` and passes the resulting Arrow batches to the
program's sink. All are plain picklable data, without sessions or plans.
"""

from __future__ import annotations

from dataclasses import field

from sharkpy.base.records import dataclass
from sharkpy.catalog.model import StorageFormat
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.value_sets import KeyBits
from sharkpy.physical.kernel_code import Code
from sharkpy.plan.arrow_data import RowReader
from sharkpy.plan.logical import RowSample
from sharkpy.plan.row_steps import RowStep
from sharkpy.sources.source import Split
from sharkpy.udf.user.function import FunctionUse
from sharkpy.values.types import DataType, Schema

_NO_SCHEMA = Schema(())


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Predicate of a scan: all `conditions`, and all `texts` in SQL, are true.

    `key` is equal for equal predicates over the stored columns, whatever their aliases.
    """

    conditions: tuple[Code, ...]
    texts: tuple[str, ...]
    key: str


@dataclass(frozen=True, slots=True)
class KeyEdge:
    """Rows of `relation` whose column `alias` has no value of `source_alias`, a column of `source`, are not needed.

    Both columns are integers, or both are dates. A task reads `source` whole.
    """

    relation: str
    alias: str
    source: str
    source_alias: str


@dataclass(frozen=True, slots=True)
class GroupKey:
    """Group key of a kernel: integers from `low` to `high`, or NULL, given in the DuckDB type `integer_type`.

    If `is_coded`, it is a column of any type instead, given as it is. The kernel groups each block by its own codes of
    the values, so a key may come from several blocks.
    """

    alias: str
    code: Code
    low: int = 0
    high: int = 0
    integer_type: str = ""
    is_coded: bool = False


@dataclass(frozen=True, slots=True)
class FirstRows:
    """Rows of a scan are needed if they are among the first `count` by `order`, or equal to one of these.

    With `groups`, which are not coded, it is so in each group.
    """

    order: Code
    count: int
    ascending: bool
    nulls_first: bool
    groups: tuple[GroupKey, ...] = ()

    @property
    def columns(self) -> frozenset[str]:
        """Columns that the codes read, by alias."""
        codes = (self.order, *(key.code for key in self.groups))
        return frozenset(name for code in codes for name in code.columns())


@dataclass(frozen=True, slots=True)
class CalledFunction:
    """Column `alias` that a task adds to a relation: a user's function of the columns `args`, cast to its types."""

    alias: str
    use: FunctionUse
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BlockColumns:
    """Input relation of blocks: stored column `names[i]` appears in SQL as `aliases[i]`.

    `schema` has the logical types of `names`. If `forms[i]` is not "", it is the DuckDB integer type in which column i
    is given as scaled integers (see `sharkpy.physical.integer_columns`). Without `forms`, all columns are logical.
    """

    relation: str
    names: tuple[str, ...]
    aliases: tuple[str, ...]
    schema: Schema = _NO_SCHEMA
    forms: tuple[str, ...] = ()
    values: tuple[tuple[str | None, ...], ...] = ()
    """If `values[i]` is not empty, column i is given as indexes into it. Its last item is None, for NULL."""
    keys: tuple[tuple[str, KeyBits], ...] = ()
    """Key sets of stored integer columns. Rows with values outside the set may be removed."""
    sample: RowSample | None = None
    filter: RowFilter | None = None
    """Predicate of rows that are needed. The program's SQL, if any, applies it too."""
    reduced_above: int | None = None
    """Number of rows above which a task leaves out rows that are not needed; None: never."""
    first: FirstRows | None = None
    """Order of the rows that are needed, after the filter."""
    called: tuple[CalledFunction, ...] = ()
    passed: tuple[tuple[str, str], ...] = ()
    """Columns of a relation that is passed on, by alias, and their names. The filter is true for all rows of it."""

    def passed_on(self) -> BlockColumns:
        """Return the passed columns as they are passed: in their logical types."""
        places = [self.aliases.index(alias) for alias, _ in self.passed]
        names = tuple(self.names[place] for place in places)
        return BlockColumns(self.relation, names, tuple(name for _, name in self.passed), self.schema.select(names))


@dataclass(frozen=True, slots=True)
class FileColumns:
    """Input relation of file splits of a table with `schema`; columns as in BlockColumns."""

    relation: str
    schema: Schema
    names: tuple[str, ...]
    aliases: tuple[str, ...]
    sample: RowSample | None = None


@dataclass(frozen=True, slots=True)
class ExchangeColumns:
    """Input relation read from a hash, range or single exchange: Arrow IPC payloads."""

    relation: str
    exchange_id: int
    schema: Schema
    spread: frozenset[int] | None = None
    """Hashes of the keys whose rows may be in spread buckets, if the task reads such buckets separately."""


@dataclass(frozen=True, slots=True)
class BroadcastColumns:
    """Input relation that each task reads whole."""

    relation: str
    exchange_id: int
    schema: Schema


@dataclass(frozen=True, slots=True)
class GivenColumns:
    """Input relation of rows passed by a Python program. `read` makes batches of a part's rows.

    `label` names their origin in errors.
    """

    relation: str
    schema: Schema
    label: str
    read: RowReader


@dataclass(frozen=True, slots=True)
class StepColumns:
    """Input relation that `step` makes, in the same task, from the rows of another query.

    The first `num_passed` columns of `program` and of `schema` are passed on by the step.
    """

    relation: str
    step: RowStep
    program: StageProgram
    num_passed: int
    schema: Schema


MOST_CODES = 1 << 26
"""Largest number of different values of a coded key in a block, and NULL."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Join of a kernel's rows with the row of `blocks` whose column `alias` is equal to `key`. Keys do not repeat.

    Rows of `blocks` count if all `conditions` are true. With `keeps_all`, a row without a match has NULLs.
    """

    key: Code
    blocks: BlockColumns
    alias: str
    conditions: tuple[Code, ...] = ()
    keeps_all: bool = False


@dataclass(frozen=True, slots=True)
class KernelColumns:
    """Input relation of groups and their aggregates, which the vector machine makes from the rows of `blocks`.

    It has the name of `blocks`, which queries do not see. Rows count if all `conditions` are true. An aggregate is a
    BIGINT by its alias. Without `keys`, there is one group. With a coded key, groups are partial. If the filter of
    `blocks` has texts, it is applied before. Codes may read columns of `lookups`, and a lookup's key those before it.
    """

    relation: str
    blocks: BlockColumns
    conditions: tuple[Code, ...]
    keys: tuple[GroupKey, ...]
    aggregates: tuple[tuple[str, Code], ...]
    lookups: tuple[Lookup, ...] = ()

    @property
    def columns(self) -> frozenset[str]:
        """Columns that the codes read, by alias, also columns of lookups."""
        keys, found = (key.code for key in self.keys), (lookup.key for lookup in self.lookups)
        codes = (*self.conditions, *keys, *found, *(code for _, code in self.aggregates))
        return frozenset(name for code in codes for name in code.columns())

    @property
    def all_blocks(self) -> tuple[BlockColumns, ...]:
        return (self.blocks, *(lookup.blocks for lookup in self.lookups))

    @property
    def aliases(self) -> tuple[str, ...]:
        return (*(key.alias for key in self.keys), *(alias for alias, _ in self.aggregates))


DataInput = BlockColumns | FileColumns | ExchangeColumns | BroadcastColumns | GivenColumns
StageInput = DataInput | StepColumns | KernelColumns


@dataclass(frozen=True, slots=True)
class StageProgram:
    """Program: `sql` reads the inputs' relations and yields the columns `output` (names as in the SQL).

    If `sql` is empty, the only input is passed on: unchanged, or the `passed` columns of its filter's rows. Relation
    names are unique in a program and the programs within it.
    """

    sql: str
    inputs: tuple[StageInput, ...]
    output: Schema
    sink: StageSink
    functions: tuple[FunctionUse, ...] = ()
    """Users' functions that the SQL calls."""
    edges: tuple[KeyEdge, ...] = ()
    """Rows of blocks that the program does not need. Its result is the same with or without them."""
    keeps_order: bool = field(default=False, compare=False)
    """Joins stay in the order of the SQL, since DuckDB would underestimate one of them."""
    otherwise: StageProgram | None = None
    """Program of the same rows without lookups, for tasks in which a key of a lookup repeats."""

    @property
    def data_inputs(self) -> tuple[DataInput, ...]:
        """Inputs that bring data into the task: its own, and the inputs of programs within steps."""
        found: list[DataInput] = []
        for spec in self.inputs:
            if isinstance(spec, StepColumns):
                found += spec.program.data_inputs
            elif isinstance(spec, KernelColumns):
                found += spec.all_blocks
            else:
                found.append(spec)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class TaskInput:
    """Part of the data of one task, by relation: its blocks or file splits. Exchange inputs arrive separately."""

    blocks: tuple[tuple[str, tuple[BlockHandle, ...]], ...] = ()
    splits: tuple[tuple[str, tuple[Split, ...]], ...] = ()

    def shipped(self) -> TaskInput:
        """Return the part in the form that is sent to the task."""
        blocks = ((relation, tuple(handle.shipped() for handle in handles)) for relation, handles in self.blocks)
        return TaskInput(tuple(blocks), self.splits)


NO_INPUT = TaskInput()


# Sinks: destinations of a task's rows


@dataclass(frozen=True, slots=True)
class ResultSink:
    """Rows go to the driver as Arrow batches, in task order."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Spreading of heavy keys of an exchange: their rows are dealt over spread buckets.

    `min_rows` is the number of rows of a key in one task from which it is heavy. `is_forced` makes each key heavy (for
    tests). `kept` are the hashes of keys whose rows stay together, since the join's other side has spread them.
    """

    num_buckets: int
    min_rows: int
    is_forced: bool = False
    kept: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class HashSink:
    """Rows go to `num_buckets` buckets by a stable hash of the columns `keys`; one IPC payload per bucket.

    The buckets of `spread` follow them.
    """

    keys: tuple[str, ...]
    num_buckets: int
    spread: Spread | None = None

    @property
    def all_buckets(self) -> int:
        return self.num_buckets + (self.spread.num_buckets if self.spread else 0)


@dataclass(frozen=True, slots=True)
class RangeSink:
    """Rows go to buckets by comparison with `bounds` (Arrow IPC bytes of sorted boundary rows) on `keys`.

    A key is (column, ascending, nulls_first). `types` are the keys' types, empty if all are plain.
    """

    keys: tuple[tuple[str, bool, bool], ...]
    bounds: bytes
    num_buckets: int
    types: tuple[DataType, ...] = ()


@dataclass(frozen=True, slots=True)
class SingleSink:
    """All rows go to one bucket."""


@dataclass(frozen=True, slots=True)
class BroadcastSink:
    """All rows go to the driver, which broadcasts them."""


@dataclass(frozen=True, slots=True)
class Bucketing:
    """Separation of rows by the bucket of the columns at the positions `keys`, with the hash of HashSink."""

    keys: tuple[int, ...]
    num_buckets: int


@dataclass(frozen=True, slots=True)
class MatrixLayout:
    """Layout of blocks as one matrix: numeric columns become floats, and with `has_label` the last one is separate.

    A missing value (NULL, NaN) is an error, unless `drops_missing` removes its row or `fills` has a replacement for
    each feature. If `is_by_source`, the rows of each scanned block go to separate blocks, whichever task reads it.
    """

    dtype: str
    has_label: bool
    drops_missing: bool = False
    fills: tuple[float, ...] = ()
    is_by_source: bool = False


@dataclass(frozen=True, slots=True)
class BlockSink:
    """Rows go to encoded blocks of the store, with `buckets` of one bucket each.

    With `layout`, each block is a matrix. Tasks return BlockHandles with statistics, and with the rows' checksum if
    `is_checked`.
    """

    schema: Schema
    block_rows: int
    durable_dir: str | None
    buckets: Bucketing | None = None
    is_checked: bool = False
    layout: MatrixLayout | None = None


@dataclass(frozen=True, slots=True)
class FileSink:
    """Rows go to files in `directory` (a staging folder), of one bucket each with `buckets`.

    With `partition_columns`, the rows' last columns are the texts of these columns, sorted. They are not written but
    name the folder of each row, at most `max_partitions` per task. Tasks return (path, rows, bytes).

    `forms` are the Hive partitions, by the names of their folders in `directory` ("" for itself), with formats and
    columns of their own. `stem` begins the names of files that belong to no bucket. `access` is the access id for a
    remote `directory`.
    """

    schema: Schema
    format: str
    properties: tuple[tuple[str, str], ...]
    directory: str
    buckets: Bucketing | None = None
    partition_columns: tuple[str, ...] = ()
    max_partitions: int | None = None
    forms: tuple[tuple[str, StorageFormat, Schema], ...] = ()
    stem: str = "part"
    access: str = ""


StageSink = ResultSink | HashSink | RangeSink | SingleSink | BroadcastSink | BlockSink | FileSink

"""Programs of stages: one DuckDB query over named Arrow inputs, with its sink; and a task's part of the data.

Every task of a stage runs the same `StageProgram` over its own `TaskInput` and hands the resulting Arrow batches to
the program's sink. Plain picklable data, shipped to tasks: no sessions, no plans.
"""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.key_bits import KeyBits
from sharkpy.physical.sinks import StageSink
from sharkpy.plan.given_rows import RowReader
from sharkpy.plan.row_sample import RowSample
from sharkpy.plan.steps.row_step import RowStep
from sharkpy.sources.split import Split
from sharkpy.udf.user.function import FunctionUse
from sharkpy.values.types import Schema

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

    def shipped(self) -> TaskInput:
        """The part as the task gets it."""
        blocks = ((relation, tuple(handle.shipped() for handle in handles)) for relation, handles in self.blocks)
        return TaskInput(tuple(blocks), self.splits)


NO_INPUT = TaskInput()

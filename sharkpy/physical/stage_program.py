"""Programs of stages: one DuckDB query over named Arrow inputs, with its sink; and a task's inputs.

Each task of a stage runs the same `StageProgram` over its own `TaskInput` and passes the resulting Arrow batches to the
program's sink. Both are plain picklable data, without sessions or plans.
"""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.value_sets import KeyBits
from sharkpy.physical.sinks import StageSink
from sharkpy.plan.arrow_data import RowReader
from sharkpy.plan.logical import RowSample
from sharkpy.plan.row_steps import RowStep
from sharkpy.sources.source import Split
from sharkpy.udf.user.function import FunctionUse
from sharkpy.values.types import Schema

_NO_SCHEMA = Schema(())


@dataclass(frozen=True, slots=True)
class BlockColumns:
    """Input relation of blocks: stored column `names[i]` appears in SQL as `aliases[i]`.

    `schema` has the logical types of `names`. If `forms[i]` is not "", it is the DuckDB integer type in which column i
    is given as scaled integers (see `sharkpy.physical.block_form`). Without `forms`, all columns are logical.
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


DataInput = BlockColumns | FileColumns | ExchangeColumns | BroadcastColumns | GivenColumns
StageInput = DataInput | StepColumns


@dataclass(frozen=True, slots=True)
class StageProgram:
    """Program: `sql` reads the inputs' relations and yields the columns `output` (names as in the SQL).

    If `sql` is empty, the only input is passed on unchanged. Relation names are unique in a program and the programs
    within it.
    """

    sql: str
    inputs: tuple[StageInput, ...]
    output: Schema
    sink: StageSink
    functions: tuple[FunctionUse, ...] = ()
    """Users' functions that the SQL calls."""

    @property
    def data_inputs(self) -> tuple[DataInput, ...]:
        """Inputs that bring data into the task: its own, and the inputs of programs within steps."""
        found: list[DataInput] = []
        for spec in self.inputs:
            if isinstance(spec, StepColumns):
                found += spec.program.data_inputs
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

"""Descriptions of Python code between two queries of one task, as data in plans and tasks."""

from __future__ import annotations

from sharkpy.base.records import dataclass
from sharkpy.catalog.lake_tables import PartitionField
from sharkpy.catalog.model import StorageFormat
from sharkpy.udf.user.function import FunctionUse
from sharkpy.udf.user.table import UserTable


@dataclass(frozen=True, slots=True)
class RowStep:
    """Base of frozen, slotted dataclasses that describe a step.

    1. Equal descriptions have the same effect. They are hashable, and pickled for the tasks.
    2. The table of `sharkpy.execution.tasks.steps` maps the type of a description to the function that runs it.
    """

    @property
    def label(self) -> str:
        """The text of the step in EXPLAIN."""
        return type(self).__name__


@dataclass(frozen=True, slots=True)
class BatchStep(RowStep):
    """Passes each Arrow batch of its arguments, with columns by position, to a function that returns batches of its
    columns.
    """

    name: str
    function: bytes
    """The function, pickled by value. It takes a batch and returns an iterable of batches."""

    @property
    def label(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class CountChanges(RowStep):
    """Passes on all rows and counts the rows whose argument, a BOOLEAN, is true."""


DELIMITED_JSON = "delimited_json"
"""Row format with tabs between values, and JSON for nested ones. It is the default for scripts."""


@dataclass(frozen=True, slots=True)
class Script(RowStep):
    """A script. `command` is split into words at spaces and by quotes, without a shell.

    1. The first word is looked up in the working folder, then in PATH. The working folder has `files`, and `archives`
       unpacked into folders of their names.
    2. `written` and `read` are the formats of its input and output rows, one per line. `names` and `output_names` are
       their columns.
    3. `escapes`: line ends and tabs within values are escaped by a backslash, in both directions.
    4. `may_leave_rows`: the script need not read all of its input.
    5. `environment` is added to the environment of the engine's process.
    """

    command: str
    written: StorageFormat
    read: StorageFormat
    names: tuple[str, ...]
    output_names: tuple[str, ...]
    files: tuple[str, ...] = ()
    archives: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    escapes: bool = False
    may_leave_rows: bool = False
    error_bytes: int = 100_000

    @property
    def label(self) -> str:
        return f"'{self.command}'"


@dataclass(frozen=True, slots=True)
class TableFunctionStep(RowStep):
    """Passes on a row with each row that the function makes from it. If `outer`, a row without results gets NULLs.

    Rows that the function makes at the end of a task are joined with the task's last row, as in Hive.
    """

    use: FunctionUse
    outer: bool = False

    @property
    def function(self) -> UserTable:
        return self.use.function  # type: ignore[return-value]

    @property
    def label(self) -> str:
        return f"{'outer ' if self.outer else ''}{self.use.function.name}"


@dataclass(frozen=True, slots=True)
class TransformStep(RowStep):
    """Computes the text of each argument's partition value, by the field at its position. NULL gives NULL."""

    fields: tuple[PartitionField, ...]

    @property
    def label(self) -> str:
        return ", ".join(map(str, self.fields))

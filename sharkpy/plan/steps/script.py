"""A script of a query, as plain data: the process that rows go through, and what they look like on the way."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.model import StorageFormat
from sharkpy.plan.steps.row_step import RowStep

DELIMITED_JSON = "delimited_json"
"""The name of the row format with tabs between the values, and JSON for nested ones: what scripts get unless told."""


@dataclass(frozen=True, slots=True)
class Script(RowStep):
    """`command` is cut into words at spaces and by quotes; there is no shell.

    1. The first word is looked for in the working folder, then in PATH. There the process finds `files`, and
       `archives` unpacked into folders of their names.
    2. `written` and `read` are the formats of the rows that it gets and gives, one a line; `names` and
       `output_names` those of their columns.
    3. `escapes`: line ends and tabs within values are written and read as `\\n`, `\\r`, `\\t`.
    4. `may_leave_rows`: it need not read all of its input.
    5. `environment` comes on top of that of the engine's process.
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

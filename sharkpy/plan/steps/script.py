"""A script of a query, as data: the process through which rows pass, and their formats."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.model import StorageFormat
from sharkpy.plan.steps.row_step import RowStep

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

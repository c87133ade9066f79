"""Tables of lake formats as the catalog reaches them: their files are listed by snapshots of their own, beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from sharkpy.base import uri
from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.local_path import local_path

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.path_gate import PathGate
    from sharkpy.catalog.system_tables import SystemTable
    from sharkpy.values.types import Schema

LAKES = {
    "iceberg": "org.apache.iceberg.mr.hive.HiveIcebergStorageHandler",
    "delta": "io.delta.hive.DeltaStorageHandler",
}
"""Names of the formats, as `StorageFormat` has them, with Hive's storage handlers."""
_SCHEMES = frozenset({"", "file", "s3", "s3a", "s3n", "gs", "abfs", "abfss", "az", "hdfs", "viewfs"})
FACTS = ("snapshots", "history", "files", "refs")
"""Names behind that of a table, `t.snapshots`, of tables about it."""


def is_lake(table: Table) -> bool:
    return table.storage.name in LAKES


def check_lake_place(location: str) -> None:
    """UnsupportedError for a remote folder or file of a lake table where storage cannot list and write them."""
    if (scheme := uri.scheme_of(location)) not in _SCHEMES:
        raise UnsupportedError(f'a lake table with files in "{uri.shown(location)}", storage of the scheme "{scheme}"')


def lake_path(location: str) -> str:
    """Path of a folder or file of a lake table, or its URI where it is remote; UnsupportedError where there are no
    lake tables.
    """
    check_lake_place(location)
    return location.rstrip("/") if uri.is_remote(location) else local_path(location)


@dataclass(frozen=True, slots=True)
class LakePoint:
    """Snapshot at which a query reads a table: that with a number, with a name, or the last one at a moment."""

    number: int | None = None
    name: str = ""
    moment_ms: int | None = None

    def __str__(self) -> str:
        if self.moment_ms is not None:
            return f"time {self.moment_ms}"
        return self.name or f"version {self.number}"


@dataclass(frozen=True, slots=True)
class PartitionField:
    """Field by which a lake table's files are divided: the name of a transform, its number if it has one, and the
    column that it takes; `is_stored`: the files have that too.

    `identity` takes the column's value, and `void` none.
    """

    transform: str
    column: str
    number: int | None = None
    is_stored: bool = True

    def __str__(self) -> str:
        """The field as PARTITIONED BY SPEC has it."""
        if self.transform == "identity":
            return self.column
        return f"{self.transform}({self.column if self.number is None else f'{self.number}, {self.column}'})"


@dataclass(frozen=True, slots=True)
class NewFile:
    """File that a statement has written for a table, where it stays; `values` are the texts of the partition fields."""

    path: str
    num_rows: int
    size_bytes: int
    values: tuple[str | None, ...] = ()


class Replaced(Enum):
    """Files in whose place new ones come: none, all, or those with the same values of the fields that the table is
    divided by, which are all of one that is not.
    """

    NOTHING = "nothing"
    SAME_VALUES = "same values"
    ALL = "all"


class LakeTables(Protocol):
    """Lake tables as one session reaches them. What is passed in is an entry of the catalog, or what `current` made.

    1. `current` gives the table as it is now, with its columns; the same object while nothing has changed.
    2. Data files are read and written by tasks: here are their lists alone.
    3. Failures are SharkErrors that name the table.
    """

    def current(self, entry: Table) -> Table: ...

    def at(self, table: Table, point: LakePoint) -> Table:
        """The table as it was; BindError 22023 where no such snapshot is kept."""

    def named(self, word: str, place: str, gate: PathGate) -> Table:
        """Table at a path that a query names, in the format `word`."""

    def facts(self, table: Table, what: str) -> SystemTable:
        """Rows about a table: one of `FACTS`."""

    def create(self, table: Table, fields: Sequence[PartitionField]) -> Table:
        """Make an empty table, or find the one that is there where no column is given; returns its entry."""

    def drop(self, entry: Table) -> None:
        """Forget a table where its format knows it. Its files are the caller's."""

    def alter(self, table: Table, schema: Schema, renamed: tuple[str, str] | None) -> None:
        """Give a table other columns: those of the same name stay what they were, and so does the one that was
        `renamed`, its names before and after.
        """

    def partition_fields(self, table: Table) -> tuple[PartitionField, ...]:
        """Fields that new files are divided by. UnsupportedError for a table that cannot be written."""

    def set_properties(self, table: Table, given: Mapping[str, str], unset: Sequence[str]) -> None:
        """Set and remove properties that the format keeps."""

    def access_id(self, table: Table, place: str) -> str:
        """Id of the access to a remote location of a table's files; empty for a local one."""

    def commit(self, table: Table, files: Sequence[NewFile], *, replaced: Replaced, is_unchanged: bool) -> None:
        """Let files be a table's, all at once, in the place of those that are replaced.

        TableChangedError where others have written it since `table` was looked up, if it has to be unchanged.
        """

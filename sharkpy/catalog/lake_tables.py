"""Interface to tables of lake formats, whose own snapshots list their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from sharkpy.base import uri
from sharkpy.base.errors import UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.path_gate import local_path

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.path_gate import PathGate
    from sharkpy.catalog.system_tables import SystemTable
    from sharkpy.catalog.table_history import VersionPoint
    from sharkpy.values.types import Schema

LAKES = {
    "iceberg": "org.apache.iceberg.mr.hive.HiveIcebergStorageHandler",
    "delta": "io.delta.hive.DeltaStorageHandler",
}
"""Names of the formats in `StorageFormat`, with Hive's storage handlers."""
_SCHEMES = frozenset({"", "file", "s3", "s3a", "s3n", "gs", "abfs", "abfss", "az", "hdfs", "viewfs"})
FACTS = ("snapshots", "history", "files", "refs")
"""Suffixes of table names for tables about a table, as in `t.snapshots`."""


def is_lake(table: Table) -> bool:
    return table.storage.name in LAKES


def check_lake_place(location: str) -> None:
    """Raise UnsupportedError for a remote folder or file of a lake table on storage that cannot list and write it."""
    if (scheme := uri.scheme_of(location)) not in _SCHEMES:
        raise UnsupportedError(
            f'a lake table with files in "{uri.redacted(location)}", storage of the scheme "{scheme}", is not supported'
        )


def lake_path(location: str) -> str:
    """Return the local path of a lake table's folder or file, or its URI if it is remote. Raise UnsupportedError if the
    storage does not support lake tables.
    """
    check_lake_place(location)
    return location.rstrip("/") if uri.is_remote(location) else local_path(location)


@dataclass(frozen=True, slots=True)
class PartitionField:
    """Field by which a lake table's files are partitioned: a transform, its number if it has one, and its source
    column.

    `identity` takes the column's value, and `void` none. `is_stored`: the files contain the column as well.
    """

    transform: str
    column: str
    number: int | None = None
    is_stored: bool = True

    def __str__(self) -> str:
        """The field in the syntax of PARTITIONED BY SPEC."""
        if self.transform == "identity":
            return self.column
        return f"{self.transform}({self.column if self.number is None else f'{self.number}, {self.column}'})"


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that a statement has written at its final place. `values` are the texts of the partition fields."""

    path: str
    num_rows: int
    size_bytes: int
    values: tuple[str | None, ...] = ()


class Replaced(Enum):
    """Files that new ones replace: none, all, or those files with the same partition values, which are all files of an
    unpartitioned table.
    """

    NOTHING = "nothing"
    SAME_VALUES = "same values"
    ALL = "all"


class LakeTables(Protocol):
    """Lake tables for one session. Arguments are entries of the catalog, or tables that `current` returned.

    1. `current` returns the table in its current state, with its columns. While nothing changes, it is the same object.
    2. Tasks read and write data files. This interface only manages their lists.
    3. Failures are SharkErrors that name the table.
    """

    def current(self, entry: Table) -> Table: ...

    def at(self, table: Table, point: VersionPoint) -> Table:
        """Return an earlier version of the table. Raise BindError 22023 if the snapshot is not kept."""

    def named(self, word: str, place: str, gate: PathGate) -> Table:
        """Return the table at a path in a query, in the format `word`."""

    def facts(self, table: Table, what: str) -> SystemTable:
        """Return a table about the table: one of `FACTS`."""

    def create(self, table: Table, fields: Sequence[PartitionField]) -> Table:
        """Create an empty table, or find the existing one if no column is given. Return its entry."""

    def drop(self, entry: Table) -> None:
        """Drop a table from its format's own catalog. The caller removes its files."""

    def alter(self, table: Table, schema: Schema, renamed: tuple[str, str] | None) -> None:
        """Change the columns of a table. Columns of the same name keep their identity, as does the column `renamed`
        from its first name to its second.
        """

    def partition_fields(self, table: Table) -> tuple[PartitionField, ...]:
        """Return the fields by which new files are partitioned. Raise UnsupportedError for a table that cannot be
        written.
        """

    def set_properties(self, table: Table, given: Mapping[str, str], unset: Sequence[str]) -> None:
        """Set and remove properties that the format stores."""

    def access_id(self, table: Table, place: str) -> str:
        """Return the id of the access to a remote location of a table's files. It is empty for a local one."""

    def commit(self, table: Table, files: Sequence[NewFile], *, replaced: Replaced, is_unchanged: bool) -> None:
        """Commit files to a table atomically, in place of the replaced ones.

        With `is_unchanged`, raise TableChangedError if another writer has changed the table since `table` was looked
        up.
        """

"""Hive partitions of a table: their names, which are also folder names (`ds=2008-04-08/hr=11`), and their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from sharkpy.base import uri
from sharkpy.base.records import dataclass
from sharkpy.base.settings import DEFAULT_PARTITION_NAME

if TYPE_CHECKING:
    from sharkpy.catalog.model import StorageFormat, Table
    from sharkpy.values.types import Schema

DEFAULT_VALUE = DEFAULT_PARTITION_NAME.default
"""Value in folder names for NULL and empty strings."""
_ESCAPED = frozenset(map(chr, (*range(32), 127))) | frozenset("\"#%'*/:=?\\{[]^")


@dataclass(frozen=True, slots=True)
class HivePartition:
    """A Hive partition as registered in the catalog. Equal if unchanged.

    1. `partition_id` grows with each registration and is never reused.
    2. `location` None means the folder of its name in the table's folder.
    3. `newest` is the last committed generation of data folders (`sharkpy.sources.folders`). Later generations were
       never committed. None means that all generations count, as in tables that other systems write.
    4. `storage` and `columns` are the format and data columns of its files, or None for the table's. A partition keeps
       the table's format and columns of the time it was created (see `Catalog.alter_table`).
    """

    partition_id: int
    name: str
    location: str | None = None
    newest: int | None = None
    storage: StorageFormat | None = None
    columns: Schema | None = None

    def folder(self, table: Table) -> str:
        return self.location or uri.join(table.location or "", self.name)

    def storage_of(self, table: Table) -> StorageFormat:
        return self.storage or table.storage

    def columns_of(self, table: Table) -> Schema:
        return self.columns or table.data_schema

    def keeping(self, old: Table, new: Table, *, cascade: bool) -> HivePartition:
        """Return the partition after its table became `new`. It is read as before, except for appended columns, or with
        `cascade`.
        """
        storage, columns = self.storage, None if cascade else self.columns
        if storage is None and new.storage != old.storage:
            storage = old.storage
        known = [(field.name, field.dtype) for field in old.data_schema]
        same = [(field.name, field.dtype) for field in new.data_schema.fields[: len(known)]]
        if columns is None and not cascade and known != same:
            columns = old.data_schema
        return replace(self, storage=storage, columns=columns)


def escape(text: str) -> str:
    """Escape the characters that Hive does not allow in folder names, as %XX."""
    return "".join(f"%{ord(char):02X}" if char in _ESCAPED else char for char in text)


def unescape(text: str) -> str:
    """Return the text that a folder name encodes. Invalid UTF-8 is replaced."""
    return unquote(text, errors="replace")


def partition_name(columns: Sequence[str], values: Sequence[str | None]) -> str:
    """Return the name of the Hive partition with these values. The default value represents NULL and empty strings."""
    pairs = zip(columns, values, strict=True)
    return "/".join(f"{escape(column)}={escape(value or DEFAULT_VALUE)}" for column, value in pairs)


def partition_texts(name: str) -> list[str]:
    """Return the values in a name as Hive writes them, including the default value."""
    return [unescape(part.partition("=")[2]) for part in name.split("/") if part]


def partition_values(name: str) -> dict[str, str | None]:
    """Return the values in a name as text, None for the default value."""
    pairs = (part.partition("=") for part in name.split("/") if part)
    found = {unescape(column).lower(): unescape(value) for column, _, value in pairs}
    return {column: None if value == DEFAULT_VALUE else value for column, value in found.items()}

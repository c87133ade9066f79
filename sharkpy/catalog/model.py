"""What the catalog knows: databases, tables, storage formats. Plain immutable data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from sharkpy.types import Schema


class TableKind(Enum):
    MANAGED = "MANAGED_TABLE"
    EXTERNAL = "EXTERNAL_TABLE"
    VIEW = "VIRTUAL_VIEW"
    TEMPORARY = "TEMPORARY_TABLE"
    """Of one session: gone with it. Its data may be blocks alone (MEMORY_ONLY)."""
    TEMPORARY_VIEW = "TEMPORARY_VIEW"


class CacheMode(Enum):
    NONE = "NONE"
    MEMORY = "MEMORY"
    """Write-through: blocks are kept in the warehouse too and mapped back after a restart."""
    MEMORY_ONLY = "MEMORY_ONLY"
    """Blocks end with the session."""


@dataclass(frozen=True, slots=True)
class StorageFormat:
    """How the files of a table are read and written.

    `name` is text, parquet, orc or json. Properties of text are Hive's SerDe names: field.delim,
    collection.delim, mapkey.delim, line.delim, escape.delim, serialization.null.format,
    skip.header.line.count.
    """

    name: str
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Database:
    name: str
    location: str
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view. Equal by its `table_id`, which is unique in the warehouse and never reused."""

    table_id: str
    database: str = field(compare=False)
    name: str = field(compare=False)
    kind: TableKind = field(compare=False)
    schema: Schema = field(compare=False)
    storage: StorageFormat = field(compare=False, default=StorageFormat("parquet"))
    location: str | None = field(compare=False, default=None)
    properties: tuple[tuple[str, str], ...] = field(compare=False, default=())
    comment: str | None = field(compare=False, default=None)
    view_text: str | None = field(compare=False, default=None)
    created_at: float = field(compare=False, default=0.0)

    @property
    def qualified_name(self) -> str:
        return f"{self.database}.{self.name}"

    @property
    def is_view(self) -> bool:
        return self.kind in (TableKind.VIEW, TableKind.TEMPORARY_VIEW)

    @property
    def cache_mode(self) -> CacheMode:
        text = dict(self.properties).get("shark.cache", "NONE").upper()
        aliases = {"TRUE": "MEMORY", "FALSE": "NONE"}
        return CacheMode(aliases.get(text, text))

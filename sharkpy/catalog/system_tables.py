"""Tables and columns that no statement declares: system tables, and virtual columns.

The rows of tables in `sys` and `information_schema` are computed when a query reads them. Virtual columns are
the position of a row in its files, or of a record in its topic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING

from sharkpy.base.records import dataclass
from sharkpy.catalog.kafka_options import MILLISECONDS, TIMES
from sharkpy.values.types import BIGINT, BINARY, INT, STRING, TIMESTAMP, Field, MapType, Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.catalog.model import Table

SYSTEM_DATABASE = "sys"
INFORMATION_SCHEMA = "information_schema"
SYSTEM_DATABASES = (SYSTEM_DATABASE, INFORMATION_SCHEMA)
"""A user's database of one of these names hides the engine's."""


@dataclass(frozen=True, slots=True)
class SystemTable:
    """A table of the engine. `rows` computes its current rows, in parts with the columns of `schema`."""

    database: str
    name: str
    schema: Schema
    rows: Callable[[], Iterable[pa.Table]] = field(repr=False)
    key: str = ""
    """Column by whose texts `rows_of` computes rows without reading all of them; "" if there is none."""
    rows_of: Callable[[frozenset[str]], Iterable[pa.Table]] | None = field(default=None, repr=False)

    def of_keys(self, keys: frozenset[str]) -> SystemTable:
        """Return the table with the rows of these keys only."""
        return self if self.rows_of is None else replace(self, rows=partial(self.rows_of, keys), rows_of=None)

    def __iter__(self) -> Iterator[pa.Table]:
        yield from self.rows()


FILE_NAME, BLOCK_OFFSET = "input__file__name", "block__offset__inside__file"
_OF_FILES = Schema((Field(FILE_NAME, STRING), Field(BLOCK_OFFSET, BIGINT)))
"""URI of the row's file, and the byte at which its line or its group of records begins."""
PARTITION, OFFSET, TIME, KEY, HEADERS = "__partition", "__offset", "__timestamp", "__key", "__headers"
RECORD_COLUMNS = Schema(
    (
        Field(PARTITION, INT),
        Field(OFFSET, BIGINT),
        Field(TIME, TIMESTAMP),
        Field(KEY, BINARY),
        Field(HEADERS, MapType(STRING, BINARY)),
    )
)
"""Partition and offset of a record, its time, key and headers."""
_OF_KINDS = {"KAFKA": RECORD_COLUMNS}


def virtual_columns_in(text: str, table: Table) -> Schema:
    """Return the virtual columns in `text` that the table does not declare itself."""
    lowered, declared = text.lower(), table.schema.names
    return Schema(tuple(f for f in _virtual_columns(table) if f.name in lowered and f.name not in declared))


def with_virtual_columns(table: Table, names: tuple[str, ...]) -> Schema:
    """Add the virtual columns among `names` to the declared columns."""
    known = set(table.schema.names)
    added = (field for field in _virtual_columns(table) if field.name in names and field.name not in known)
    return Schema((*table.schema, *added))


def is_virtual(name: str) -> bool:
    """Return True for the name of a virtual column."""
    return name in _OF_FILES.names or name in RECORD_COLUMNS.names


def _virtual_columns(table: Table) -> Schema:
    if table.stream is None:
        return _OF_FILES
    if table.follows_changes:
        return Schema(())
    found = _OF_KINDS.get(table.stream.kind, _OF_FILES)
    if dict(table.stream.options).get(TIMES, "").lower() != MILLISECONDS:
        return found
    return Schema(tuple(Field(TIME, BIGINT) if field.name == TIME else field for field in found))

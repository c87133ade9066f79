"""Columns that no table declares: the place of a row in its files."""

from __future__ import annotations

from sharkpy.values.types import BIGINT, STRING, Field, Schema

FILE_NAME, BLOCK_OFFSET = "input__file__name", "block__offset__inside__file"
VIRTUAL_COLUMNS = Schema((Field(FILE_NAME, STRING), Field(BLOCK_OFFSET, BIGINT)))
"""URI of the row's file; the byte at which its line, or the run of records that holds it, begins."""


def virtual_columns_in(text: str, declared: Schema) -> Schema:
    """Virtual columns that `text` names and the table does not declare itself."""
    lowered = text.lower()
    return Schema(tuple(f for f in VIRTUAL_COLUMNS if f.name in lowered and f.name not in declared.names))


def with_virtual_columns(declared: Schema, names: tuple[str, ...]) -> Schema:
    """Add the virtual columns among `names` to `declared`."""
    known = set(declared.names)
    return Schema((*declared, *(field for field in VIRTUAL_COLUMNS if field.name in names and field.name not in known)))

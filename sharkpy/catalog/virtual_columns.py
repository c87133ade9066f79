"""Columns that no table declares: where in its files a row comes from."""

from __future__ import annotations

from sharkpy.values.types import BIGINT, STRING, Field, Schema

FILE_NAME, BLOCK_OFFSET = "input__file__name", "block__offset__inside__file"
VIRTUAL_COLUMNS = Schema((Field(FILE_NAME, STRING), Field(BLOCK_OFFSET, BIGINT)))
"""The URI of the row's file; the byte at which its line, or the run of records that it is in, begins."""


def virtual_columns_in(text: str, declared: Schema) -> Schema:
    """Those that `text` names and the table does not declare itself."""
    lowered = text.lower()
    return Schema(tuple(f for f in VIRTUAL_COLUMNS if f.name in lowered and f.name not in declared.names))


def with_virtual_columns(declared: Schema, names: tuple[str, ...]) -> Schema:
    """`declared` with the virtual columns that are among `names`."""
    known = set(declared.names)
    return Schema((*declared, *(field for field in VIRTUAL_COLUMNS if field.name in names and field.name not in known)))

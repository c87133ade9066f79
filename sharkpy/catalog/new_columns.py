"""Property of a stream that controls the handling of columns in its files that the stream does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sharkpy.base.errors import ConfigurationError, UnsupportedError
from sharkpy.catalog.avro_schema import LITERAL, URL
from sharkpy.catalog.format_options import CSV
from sharkpy.catalog.stream_kinds import FOLDER

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table

NEW_COLUMNS = "stream.new.columns"
IGNORE, ADD, STOP = POLICIES = ("ignore", "add", "stop")
"""New columns are ignored, are added to the stream, or stop the queries that would read the file."""
FORMATS = ("json", CSV, "parquet", "avro", "orc")
"""Formats whose files contain their columns."""
_NAMES = {CSV: "CSV with a header"}


def new_columns_of(stream: Table) -> str:
    """Return the handling of columns that a stream does not have."""
    return dict(stream.properties).get(NEW_COLUMNS, IGNORE).lower()


def check_new_columns(stream: Table) -> None:
    """Check the property. Raise ConfigurationError for an invalid value, UnsupportedError for a stream whose items do
    not name columns.
    """
    given = new_columns_of(stream)
    if stream.stream is None:
        return
    if given not in POLICIES:
        message = f'"{dict(stream.properties)[NEW_COLUMNS]}" is not a value of {NEW_COLUMNS}'
        raise ConfigurationError(message, hint=f"use one of {', '.join(POLICIES)}", sqlstate="22023")
    if given == IGNORE:
        return
    what, storage = f"{NEW_COLUMNS} '{given}'", stream.storage
    if stream.stream.kind != FOLDER.name:
        raise UnsupportedError(
            f"{what} of a stream FROM {stream.stream.kind} is not supported", hint="use a stream FROM FOLDER"
        )
    is_without_header = storage.name == CSV and dict(storage.properties).get("header", "").lower() != "true"
    if storage.name not in FORMATS or is_without_header:
        hint = f"formats: {', '.join(_NAMES.get(one, one) for one in FORMATS)}"
        raise UnsupportedError(
            f"{what} in the format {storage.name}, whose files do not name columns, is not supported", hint=hint
        )
    if given == ADD and {LITERAL, URL} & {key for key, _ in (*storage.properties, *stream.properties)}:
        raise UnsupportedError(
            f"{what} of a stream whose columns come from an Avro schema is not supported", hint=f"{LITERAL} names them"
        )

"""Errors for queries whose rows may change or disappear later, if the output mode does not allow that."""

from __future__ import annotations

from sharkpy.base.errors import SharkError, UnsupportedError
from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.sql.incremental.row_wise import WITH_TABLES

_OF_TABLES = "CREATE CONTINUOUS TABLE has the current rows"
_APPENDED = (
    "GROUP BY windows or sessions of a time with a WATERMARK, which are given when it closes them; outer joins of "
    "streams that bound such times on both sides; or"
)
_TABLES_FIRST = "START FROM TABLE … THEN STREAM … reads the rows of a table once, before the rows of the stream"
_UPDATED = "EMIT UPDATE, which gives changed groups to a sink TO KAFKA with a __key, TO PROGRAM or TO CONSOLE"


def changing(gives: EmitMode | None) -> SharkError:
    """Error for a query whose rows change with later input.

    `gives` is the output mode of an insert or sink; None for a continuous table with EMIT APPEND.
    """
    hint = f"{_APPENDED} {'EMIT UPDATE' if gives is None else f'{_UPDATED}; {_OF_TABLES}'}"
    if gives is EmitMode.UPDATE:
        hint = f"EMIT UPDATE gives groups of GROUP BY, but not sessions, with expressions over each group; {_OF_TABLES}"
    return _not_given(gives, "a query whose rows change with each epoch", hint)


def changing_tables(gives: EmitMode | None) -> SharkError:
    """Error for rows of tables that are combined with rows of a stream. `gives`: see `changing`."""
    hint = f"{_TABLES_FIRST}; {'or EMIT UPDATE' if gives is None else _OF_TABLES}"
    return _not_given(gives, f"{WITH_TABLES}, which may change,", hint)


def _not_given(gives: EmitMode | None, what: str, hint: str) -> SharkError:
    emit = "EMIT UPDATE" if gives is EmitMode.UPDATE else "EMIT APPEND"
    return UnsupportedError(f"{emit} of {what} is not supported", hint=hint)

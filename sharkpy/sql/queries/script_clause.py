"""Clauses after the values of a script: formats of its rows, the script, its output columns."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token

from sharkpy.catalog.model import StorageFormat
from sharkpy.sql.grammar.token_reader import TokenReader
from sharkpy.sql.statements.bind_storage import row_format
from sharkpy.values.types import DataType

_TYPE_WORDS = frozenset(
    (
        *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT"),
        *("FLOAT", "REAL", "DOUBLE", "DECIMAL", "DEC", "NUMERIC"),
        *("STRING", "VARCHAR", "CHAR", "BINARY", "DATE", "TIMESTAMP"),
        *("ARRAY", "MAP", "STRUCT", "UNIONTYPE"),
    )
)
"""Words that begin a type."""
_ESCAPED = re.compile(r"\\(['\";])")


@dataclass(frozen=True, slots=True)
class ScriptClause:
    """[ROW FORMAT …] [RECORDWRITER …] USING 'command' [AS columns] [ROW FORMAT …] [RECORDREADER …].

    `command` keeps its escapes, which the script interprets. If `columns` is None, they are key and value. If a type is
    None, it is STRING.
    """

    command: str
    command_token: Token
    written: StorageFormat | None = None
    writer: str | None = None
    columns: tuple[tuple[str, DataType | None], ...] | None = None
    read: StorageFormat | None = None
    reader: str | None = None


def script_clause(reader: TokenReader) -> ScriptClause:
    written = row_format(reader) if reader.match("ROW", "FORMAT") else None
    writer = reader.optional_string("RECORDWRITER")
    reader.expect("USING")
    token = reader.current
    reader.string("a script")
    if token is None:
        raise reader.error("a script in quotes expected")
    columns = _columns(reader) if reader.match("AS") else None
    read = row_format(reader) if reader.match("ROW", "FORMAT") else None
    command = _ESCAPED.sub(r"\1", reader.text[token.start + 1 : token.end])
    return ScriptClause(command, token, written, writer, columns, read, reader.optional_string("RECORDREADER"))


def _columns(reader: TokenReader) -> tuple[tuple[str, DataType | None], ...]:
    """Read the columns: all of them have types, or none has."""
    is_wrapped = reader.match("(")
    columns = [_column(reader)]
    while reader.match(","):
        start = reader.position
        columns.append(_column(reader))
        if (columns[0][1] is None) != (columns[-1][1] is None):
            reader.position = start
            raise reader.error("a type for each column expected, or for none")
    if is_wrapped:
        reader.expect(")")
    return tuple(columns)


def _column(reader: TokenReader) -> tuple[str, DataType | None]:
    name = reader.name("a column name")
    dtype = reader.data_type() if reader.word() in _TYPE_WORDS else None
    if dtype is not None:
        reader.optional_string("COMMENT")
    return name, dtype

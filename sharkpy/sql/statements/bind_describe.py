"""DESCRIBE of tables, columns, Hive partitions, databases, functions and queries."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token

from sharkpy.base.errors import ColumnNotFoundError, did_you_mean
from sharkpy.catalog.model import Table
from sharkpy.plan.commands import (
    Command,
    DescribeDatabase,
    DescribeFunction,
    DescribeHistory,
    DescribeQuery,
    DescribeTable,
)
from sharkpy.sql.grammar.token_reader import word_of
from sharkpy.sql.statements.bind_partition import values_spec
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import ArrayType, DataType, MapType, StructType

_QUERY_WORDS = ("SELECT", "WITH", "FROM", "VALUES", "(")


def bind_describe(binder: CommandBinder) -> Command:
    reader = binder.reader
    reader.expect_any("DESCRIBE", "DESC")
    if reader.match_any("DATABASE", "SCHEMA"):
        extended = reader.match("EXTENDED")
        token = reader.current
        name = reader.name("a database name")
        assert token is not None  # name() took it
        with binder.place_of(token):
            return DescribeDatabase(binder.context.catalog.database(name).name, extended)
    if reader.match("FUNCTION"):
        return _describe_function(binder)
    if reader.peek("QUERY") and any(word_of(token) in _QUERY_WORDS for token in reader.rest[1:2]):
        reader.expect("QUERY")
        return DescribeQuery(binder.query())
    if reader.word() in ("SELECT", "WITH"):
        # pandas asks if its query is the name of a table, and takes any answer as yes.
        raise reader.unsupported("DESCRIBE of a query without the word QUERY")
    if _is_history(binder):
        reader.expect("HISTORY")
        return DescribeHistory(binder.table())
    style = (reader.match_any("FORMATTED", "EXTENDED") or "").lower()
    kind = _streaming_kind(binder)
    if not kind:
        reader.match("TABLE")
    if not (style or kind) and (files := binder.file_query()) is not None:
        return DescribeQuery(files)
    token = reader.current
    table, path = _table_and_column(binder)
    if kind and table.streaming_kind != kind:
        raise binder.error(f"{table.qualified_name} is not a {kind}", token, sqlstate="42809")
    partition = values_spec(binder, table) if reader.peek("PARTITION") and table.is_partitioned else None
    token = reader.current
    if not path and token is not None:
        path = _path(binder)
    if path:
        _check_path(binder, table, path, token)
    return DescribeTable(table, style, path, partition)


def _is_history(binder: CommandBinder) -> bool:
    """True if HISTORY and the name of a table come next, and not a table of that name with one of its columns."""
    reader = binder.reader
    if not reader.peek("HISTORY") or len(reader.rest) < 2 or reader.rest[1].text == ".":
        return False
    named = binder.context.catalog.find_table(binder.context.database, "history")
    return named is None or not named.shown_schema.has(reader.rest[1].text)


def _streaming_kind(binder: CommandBinder) -> str:
    """Read STREAM or CONTINUOUS TABLE | INSERT | SINK before a name.

    Return an empty string if the words are the name of a table.
    """
    reader = binder.reader
    words = [token.text.upper() for token in reader.rest[:3]]
    number = 2 if words[:1] == ["CONTINUOUS"] and words[1:2] in (["TABLE"], ["INSERT"], ["SINK"]) else 1
    is_kind = number == 2 or words[:1] == ["STREAM"]
    if not is_kind or words[number : number + 1] in ([], ["."]):
        return ""
    if binder.context.catalog.find_table(binder.context.database, words[0].lower()) is not None:
        return ""
    reader.position += number
    return " ".join(words[:number]).lower()


def _table_and_column(binder: CommandBinder) -> tuple[Table, tuple[str, ...]]:
    """Read [database.]table, and .column.field… after it in the old syntax."""
    reader, catalog = binder.reader, binder.context.catalog
    start = reader.position
    first = reader.name("a table name")
    if reader.peek("."):
        second = reader.tokens[reader.position + 1 : reader.position + 2]
        is_table = second and catalog.find_table(first, second[0].text.lower()) is not None
        found = None if is_table else catalog.find_table(binder.context.database, first)
        if found is not None:
            reader.expect(".")
            return found, _path(binder)
        third = reader.tokens[reader.position + 2 : reader.position + 3]
        if is_table and third and third[0].text == ".":
            reader.expect(".")
            table = catalog.table(first, reader.name("a table name"))
            reader.expect(".")
            return table, _path(binder)
    reader.position = start
    return binder.table(), ()


def _path(binder: CommandBinder) -> tuple[str, ...]:
    """Read column.field…. The parts of arrays and maps are $elem$, $key$ and $value$."""
    reader = binder.reader
    parts = [_part(binder)]
    while reader.match("."):
        parts.append(_part(binder))
    return tuple(parts)


def _part(binder: CommandBinder) -> str:
    reader = binder.reader
    token = reader.current
    if token is not None and token.text in _INNER:
        reader.take()
        return str(token.text)
    if token is not None and token.text == "$":
        reader.take()
        word = reader.name("elem$, key$ or value$")
        reader.expect("$")
        return f"${word}$"
    return reader.name("a column name") if token is None or token.text[:1] != "'" else reader.string()


_INNER = ("$elem$", "$key$", "$value$")


def type_at(dtype: DataType, name: str) -> DataType | None:
    """Return the type of a part of a nested type; None if it has no such part."""
    match dtype:
        case ArrayType(element) if name == "$elem$":
            return element
        case MapType(key, value) if name in ("$key$", "$value$"):
            return key if name == "$key$" else value
        case StructType(names, types):
            return dict(zip((field.lower() for field in names), types, strict=True)).get(name)
    return None


def _check_path(binder: CommandBinder, table: Table, path: tuple[str, ...], token: Token | None) -> None:
    name, *rest = path
    if not table.shown_schema.has(name):
        hint = did_you_mean(name, table.shown_schema.names)
        raise binder.error(f'no column "{name}" in {table.qualified_name}', token, ColumnNotFoundError, hint)
    dtype: DataType | None = table.shown_schema[name].dtype
    for part in rest:
        dtype = type_at(dtype, part) if dtype is not None else None
        if dtype is None:
            raise binder.error(f'no part "{part}" in "{".".join(path)}"', token, ColumnNotFoundError)


def _describe_function(binder: CommandBinder) -> DescribeFunction:
    reader = binder.reader
    extended = reader.match("EXTENDED")
    name = reader.take().text.lower()
    if reader.match("."):
        name = f"{name}.{reader.name('a function')}"
    return DescribeFunction(name, extended)

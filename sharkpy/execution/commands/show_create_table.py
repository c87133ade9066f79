"""SHOW CREATE TABLE: a statement that makes the table again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sharkpy.catalog.model import BucketSpec, StorageFormat, Table, TableKind
from sharkpy.catalog.serialize import type_text
from sharkpy.commands import ShowCreateTable
from sharkpy.execution.commands.result import CommandResult, text_rows
from sharkpy.execution.commands.session import CommandSession
from sharkpy.types import Field, Schema

FORMAT_NAMES = {"text": "TEXTFILE", "parquet": "PARQUET", "orc": "ORC", "json": "JSONFILE"}
_CLAUSES = (
    ("field.delim", "FIELDS TERMINATED BY"),
    ("escape.delim", "ESCAPED BY"),
    ("collection.delim", "COLLECTION ITEMS TERMINATED BY"),
    ("mapkey.delim", "MAP KEYS TERMINATED BY"),
    ("line.delim", "LINES TERMINATED BY"),
    ("serialization.null.format", "NULL DEFINED AS"),
)


def show_create_table(command: ShowCreateTable, _: CommandSession) -> CommandResult:
    """One row a line, as Hive."""
    table = command.table
    lines = _view(table) if table.is_view else _table(table)
    return text_rows(("createtab_stmt",), [(line,) for line in lines])


def _view(table: Table) -> Iterator[str]:
    temporary = "TEMPORARY " if table.kind is TableKind.TEMPORARY_VIEW else ""
    columns = ", ".join(f"`{name}`" for name in table.schema.names)
    yield f"CREATE {temporary}VIEW `{table.database}`.`{table.name}` ({columns}) AS {table.view_text}"


def _table(table: Table) -> Iterator[str]:
    kind = {TableKind.EXTERNAL: "EXTERNAL ", TableKind.TEMPORARY: "TEMPORARY "}.get(table.kind, "")
    yield f"CREATE {kind}TABLE `{table.database}`.`{table.name}`("
    yield from _columns(table.data_schema)
    if table.comment is not None:
        yield f"COMMENT {quoted(table.comment)}"
    if table.is_partitioned:
        yield "PARTITIONED BY ("
        yield from _columns(table.partition_schema)
    yield from _buckets(table.buckets)
    yield from _row_format(table.storage)
    yield f"STORED AS {FORMAT_NAMES[table.storage.name]}"
    if table.location is not None:
        yield "LOCATION"
        yield f"  {quoted(table.location)}"
    skipped = dict(table.storage.properties).get("skip.header.line.count")
    properties = dict(table.properties) | ({"skip.header.line.count": skipped} if skipped else {})
    yield from _properties(sorted(properties.items()))


def _columns(schema: Schema) -> Iterator[str]:
    last = len(schema) - 1
    for index, field in enumerate(schema):
        yield f"  {_column(field)}{')' if index == last else ','}"


def _column(field: Field) -> str:
    comment = "" if field.comment is None else f" COMMENT {quoted(field.comment)}"
    return f"`{field.name}` {type_text(field.dtype)}{comment}"


def _buckets(buckets: BucketSpec | None) -> Iterator[str]:
    if buckets is None:
        return
    yield "CLUSTERED BY ("
    yield f"  {', '.join(buckets.columns)})"
    if buckets.sort_columns:
        yield "SORTED BY ("
        orders = (name + (" ASC" if ascending else " DESC") for name, ascending in buckets.sort_columns)
        yield f"  {', '.join(orders)})"
    yield f"INTO {buckets.num_buckets} BUCKETS"


def _row_format(storage: StorageFormat) -> Iterator[str]:
    properties = dict(storage.properties)
    clauses = [f"  {words} {quoted(properties[key])}" for key, words in _CLAUSES if key in properties]
    if storage.name == "text" and clauses:
        yield "ROW FORMAT DELIMITED"
        yield from clauses


def _properties(items: Sequence[tuple[str, str]]) -> Iterator[str]:
    if items:
        yield "TBLPROPERTIES ("
        yield from (f"  {quoted(key)}={quoted(value)}," for key, value in items[:-1])
        yield f"  {quoted(items[-1][0])}={quoted(items[-1][1])})"


def quoted(text: str) -> str:
    """A HiveQL string literal."""
    escapes = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return "'" + "".join(_visible(escapes.get(char, char)) for char in text) + "'"


def _visible(text: str) -> str:
    return text if len(text) > 1 or ord(text) >= 32 else f"\\{ord(text):03o}"

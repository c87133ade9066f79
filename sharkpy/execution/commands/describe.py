"""DESCRIBE of tables, databases and functions, in Hive's layout."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from sharkpy.catalog.model import Table
from sharkpy.commands import DescribeDatabase, DescribeFunction, DescribeTable
from sharkpy.errors import FunctionNotFoundError, did_you_mean
from sharkpy.execution.commands.result import CommandResult, text_rows
from sharkpy.execution.commands.session import CommandSession

Row = tuple[str | None, str | None, str | None]
_COLUMNS = ("col_name", "data_type", "comment")
_BLANK: Row = ("", None, None)

_SERDES = {
    "text": (
        "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
        "org.apache.hadoop.mapred.TextInputFormat",
        "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
    ),
    "parquet": (
        "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    ),
    "orc": (
        "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
        "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
        "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
    ),
    "json": (
        "org.apache.hadoop.hive.serde2.JsonSerDe",
        "org.apache.hadoop.mapred.TextInputFormat",
        "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
    ),
}


def describe_table(command: DescribeTable, _: CommandSession) -> CommandResult:
    table = command.table
    if command.column is not None:
        field = table.schema[command.column.lower()]
        return text_rows(_COLUMNS, [(field.name, str(field.dtype), field.comment or "")])
    match command.style:
        case "formatted":
            rows = [("# col_name", "data_type", "comment"), *_fields(table), _BLANK, *_details(table)]
        case "extended":
            rows = [*_fields(table), _BLANK, ("Detailed Table Information", _summary(table), "")]
        case _:
            rows = list(_fields(table))
    return text_rows(_COLUMNS, rows)


def _fields(table: Table) -> Iterator[Row]:
    for field in table.schema:
        yield field.name, str(field.dtype), field.comment or ""


def _details(table: Table) -> Iterator[Row]:
    yield "# Detailed Table Information", None, None
    yield "Database:", table.database, None
    yield "OwnerType:", "USER", None
    yield "CreateTime:", _time(table), None
    yield "LastAccessTime:", "UNKNOWN", None
    yield "Retention:", "0", None
    if table.location is not None:
        yield "Location:", table.location, None
    yield "Table Type:", table.kind.value, None
    parameters = sorted(dict(table.properties).items())
    if table.comment is not None:
        parameters.append(("comment", table.comment))
    if parameters:
        yield "Table Parameters:", None, None
        for key, value in parameters:
            yield "", key, value
    yield _BLANK
    yield from _view_details(table) if table.is_view else _storage_details(table)


def _storage_details(table: Table) -> Iterator[Row]:
    serde, input_format, output_format = _SERDES[table.storage.name]
    yield "# Storage Information", None, None
    yield "SerDe Library:", serde, None
    yield "InputFormat:", input_format, None
    yield "OutputFormat:", output_format, None
    yield "Compressed:", "No", None
    yield "Num Buckets:", "-1", None
    yield "Bucket Columns:", "[]", None
    yield "Sort Columns:", "[]", None
    if table.storage.properties:
        yield "Storage Desc Params:", None, None
        for key, value in sorted(table.storage.properties):
            yield "", key, value


def _view_details(table: Table) -> Iterator[Row]:
    yield "# View Information", None, None
    yield "View Original Text:", table.view_text, None
    yield "View Expanded Text:", table.view_text, None


def _summary(table: Table) -> str:
    columns = ", ".join(
        f"FieldSchema(name:{field.name}, type:{field.dtype}, comment:{field.comment or 'null'})"
        for field in table.schema
    )
    parameters = ", ".join(f"{key}={value}" for key, value in sorted(table.properties))
    view = f", viewOriginalText:{table.view_text}, viewExpandedText:{table.view_text}" if table.is_view else ""
    return (
        f"Table(tableName:{table.name}, dbName:{table.database}, createTime:{int(table.created_at)}, "
        f"sd:StorageDescriptor(cols:[{columns}], location:{table.location or 'null'}), "
        f"parameters:{{{parameters}}}{view}, tableType:{table.kind.value})"
    )


def _time(table: Table) -> str:
    created = datetime.datetime.fromtimestamp(table.created_at, datetime.UTC)
    return created.strftime("%a %b %d %H:%M:%S UTC %Y")


def describe_database(command: DescribeDatabase, session: CommandSession) -> CommandResult:
    database = session.catalog.database(command.name)
    names = ("db_name", "comment", "location", "owner_name", "owner_type", "parameters")
    return text_rows(names, [(database.name, database.comment or "", database.location, "", "USER", "")])


def describe_function(command: DescribeFunction, _: CommandSession) -> CommandResult:
    from sharkpy.udf import registry

    name = command.name.lower()
    lookups = (registry.scalar, registry.aggregate, registry.window, registry.table_function)
    found = next((row for lookup in lookups if (row := lookup(name)) is not None), None)
    if found is None:
        raise FunctionNotFoundError(f'no function "{name}"', hint=did_you_mean(name, registry.names()))
    rows = [(f"{name} - {found.doc}" if found.doc else name,)]
    if command.extended and found.example:
        rows += [("Example:",), (f"  {found.example}",)]
    return text_rows(("tab_name",), rows)

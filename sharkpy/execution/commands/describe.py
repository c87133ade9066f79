"""DESCRIBE of tables, databases and functions, in Hive's layout."""

from __future__ import annotations

from collections.abc import Iterator

from sharkpy.catalog.hive_partition import DEFAULT_VALUE, HivePartition, partition_values
from sharkpy.catalog.model import BucketSpec, Table
from sharkpy.commands import DescribeDatabase, DescribeFunction, DescribeTable
from sharkpy.errors import FunctionNotFoundError, did_you_mean
from sharkpy.execution.commands.partition_spec import the_partition
from sharkpy.execution.commands.result import CommandResult, text_rows
from sharkpy.execution.commands.session import CommandSession
from sharkpy.execution.commands.table_facts import file_statistics, memory_statistics, table_facts, time_text
from sharkpy.types import Schema

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


def describe_table(command: DescribeTable, session: CommandSession) -> CommandResult:
    table = command.table
    if command.column is not None:
        field = table.schema[command.column.lower()]
        return text_rows(_COLUMNS, [(field.name, str(field.dtype), field.comment or "")])
    one = None
    if command.partition is not None:
        one = the_partition(table, session.catalog.partitions(table), command.partition)
    rows = [*_fields(table.schema), *_partition_fields(table)]
    match command.style:
        case "formatted":
            rows = [("# col_name", "data_type", "comment"), *_fields(table.data_schema), *_partition_fields(table)]
            details = _details(table) if one is None else _one_partition(table, one)
            rows += [_BLANK, *details, *_memory_rows(table, one, session)]
        case "extended":
            details = _facts(table, session) if one is None else _partition_fact(table, one)
            rows += [_BLANK, *details, *_memory_rows(table, one, session)]
    return text_rows(_COLUMNS, rows)


def _partition_fields(table: Table) -> Iterator[Row]:
    if table.is_partitioned:
        yield _BLANK
        yield "# Partition Information", None, None
        yield "# col_name", "data_type", "comment"
        yield from _fields(table.partition_schema)


def _one_partition(table: Table, one: HivePartition) -> Iterator[Row]:
    yield "# Detailed Partition Information", None, None
    yield "Partition Value:", _values_text(table, one), None
    yield "Database:", table.database, None
    yield "Table:", table.name, None
    yield "Location:", one.folder(table), None
    yield _BLANK
    yield from _storage_details(table)


def _values_text(table: Table, one: HivePartition) -> str:
    values = partition_values(one.name)
    return f"[{', '.join(values.get(name) or DEFAULT_VALUE for name in table.partition_columns)}]"


def _partition_summary(table: Table, one: HivePartition) -> str:
    values = _values_text(table, one)
    return f"Partition(values:{values}, dbName:{table.database}, tableName:{table.name}, location:{one.folder(table)})"


def _memory_rows(table: Table, one: HivePartition | None, session: CommandSession) -> Iterator[Row]:
    """What of a cached partitioned table is in memory, and by which policy."""
    if not table.is_partitioned or not session.table_cache.is_cached(table):
        return
    held = session.table_cache.bytes_by_partition(table)
    yield _BLANK
    yield "# Memory Information", None, None
    if one is not None:
        yield "In Memory:", "Yes" if one.name in held else "No", None
        yield "Bytes in Memory:", str(held.get(one.name, 0)), None
        return
    yield "Cache Policy:", str(table.cache_policy), None
    yield "Partitions in Memory:", f"{len(held)} of {len(session.catalog.partitions(table))}", None
    for name, size in held.items():
        yield "", name, f"{size} bytes"


def _facts(table: Table, session: CommandSession) -> Iterator[Row]:
    """A row a fact, for dbt and Spark's clients; Hive's one row with all of them behind it."""
    yield "# Detailed Table Information", None, None
    statistics = memory_statistics(table, session.table_cache) or file_statistics(table, session)
    for name, value in table_facts(table, statistics):
        yield name, value, ""
    yield "Detailed Table Information", _summary(table), ""


def _partition_fact(table: Table, one: HivePartition) -> Iterator[Row]:
    yield "Detailed Partition Information", _partition_summary(table, one), ""


def _fields(schema: Schema) -> Iterator[Row]:
    for field in schema:
        yield field.name, str(field.dtype), field.comment or ""


def _details(table: Table) -> Iterator[Row]:
    yield "# Detailed Table Information", None, None
    yield "Database:", table.database, None
    yield "OwnerType:", "USER", None
    yield "Owner:", table.owner, None
    yield "CreateTime:", time_text(table), None
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
    buckets = table.buckets or BucketSpec((), -1)
    orders = ", ".join(f"Order(col:{name}, order:{1 if up else 0})" for name, up in buckets.sort_columns)
    yield "Num Buckets:", str(buckets.num_buckets), None
    yield "Bucket Columns:", f"[{', '.join(buckets.columns)}]", None
    yield "Sort Columns:", f"[{orders}]", None
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


def describe_database(command: DescribeDatabase, session: CommandSession) -> CommandResult:
    database = session.catalog.database(command.name)
    names = ("db_name", "comment", "location", "owner_name", "owner_type", "parameters")
    return text_rows(names, [(database.name, database.comment or "", database.location, "", "USER", "")])


def describe_function(command: DescribeFunction, _: CommandSession) -> CommandResult:
    from sharkpy.udf import registry

    name = command.name.lower()
    found = registry.described(name)
    if found is None:
        raise FunctionNotFoundError(f'no function "{name}"', hint=did_you_mean(name, registry.names()))
    rows = [(f"{name} - {found.doc}" if found.doc else name,)]
    if command.extended and found.example:
        rows += [("Example:",), (f"  {found.example}",)]
    return text_rows(("tab_name",), rows)

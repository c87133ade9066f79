"""DESCRIBE of tables, columns, databases and queries, in Hive's layout.

FORMATTED has sections with one fact per row, under Hive's names, and the figures of ANALYZE TABLE.
"""

from __future__ import annotations

from collections.abc import Iterator

from sharkpy.base import uri
from sharkpy.catalog.hive_formats import hive_classes
from sharkpy.catalog.hive_partition import DEFAULT_VALUE, HivePartition, partition_values
from sharkpy.catalog.lake_tables import is_lake
from sharkpy.catalog.model import BucketSpec, Constraint, StorageFormat, Table
from sharkpy.catalog.table_statistics import ColumnStatistics, TableStatistics
from sharkpy.execution.commands.command_result import CommandResult, text_rows
from sharkpy.execution.commands.partition_spec import the_partition
from sharkpy.execution.commands.table_facts import (
    file_statistics,
    memory_statistics,
    shown_properties,
    stream_facts,
    table_facts,
    time_text,
    watermark_facts,
)
from sharkpy.execution.commands.table_statistics import current_statistics
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import DescribeDatabase, DescribeQuery, DescribeTable
from sharkpy.sql.statements.bind_describe import type_at
from sharkpy.values.types import DataType, Schema, StructType

_COLUMNS = ("col_name", "data_type", "comment")


def describe_table(command: DescribeTable, session: EngineSession) -> CommandResult:
    table = command.table
    one = None
    if command.partition is not None:
        one = the_partition(table, session.catalog.partitions(table), command.partition)
    if command.column:
        return text_rows(_COLUMNS, column_rows(command, one, session))
    columns = table.data_schema if one is None else one.columns_of(table)
    columns = Schema((*columns, *table.computed_fields))
    rows = [*_fields(columns), *_fields(table.partition_schema), *_partition_fields(table)]
    match command.style:
        case "formatted":
            rows = [("# col_name", "data_type", "comment"), *_fields(columns), *_partition_fields(table)]
            details = table_details(table, session) if one is None else partition_details(table, one, session)
            rows += [BLANK, *details, *_memory_rows(table, one, session)]
        case "extended":
            details = _facts(table, session) if one is None else _partition_fact(table, one)
            rows += [BLANK, *details, *constraint_details(table), *_memory_rows(table, one, session)]
    return text_rows(_COLUMNS, rows)


def describe_query(command: DescribeQuery, _: EngineSession) -> CommandResult:
    return text_rows(_COLUMNS, [(column.name, str(column.dtype), None) for column in command.query.output])


def _partition_fields(table: Table) -> Iterator[Row]:
    if table.is_partitioned:
        yield BLANK
        yield "# Partition Information", None, None
        yield "# col_name", "data_type", "comment"
        yield from _fields(table.partition_schema)


def _memory_rows(table: Table, one: HivePartition | None, session: EngineSession) -> Iterator[Row]:
    """Rows about the Hive partitions of a cached table in memory, and its cache policy."""
    if not table.is_partitioned or not session.table_cache.is_cached(table):
        return
    held = session.table_cache.bytes_by_partition(table)
    yield BLANK
    yield "# Memory Information", None, None
    if one is not None:
        yield "In Memory:", "Yes" if one.name in held else "No", None
        yield "Bytes in Memory:", str(held.get(one.name, 0)), None
        return
    yield "Cache Policy:", str(table.cache_policy), None
    yield "Partitions in Memory:", f"{len(held)} of {len(session.catalog.partitions(table))}", None
    for name, size in held.items():
        yield "", name, f"{size} bytes"


def _facts(table: Table, session: EngineSession) -> Iterator[Row]:
    """Rows of one fact each, for dbt and Spark's clients, then Hive's single row with all facts."""
    yield "# Detailed Table Information", None, None
    statistics = memory_statistics(table, session.table_cache) or file_statistics(table, session)
    of_streams = [*stream_facts(table, session.catalog), *watermark_facts(table, session)]
    for name, value in (*table_facts(table, statistics), *of_streams):
        yield name, value, ""
    yield "Detailed Table Information", table_summary(table), ""


def _partition_fact(table: Table, one: HivePartition) -> Iterator[Row]:
    yield "Detailed Partition Information", partition_summary(table, one), ""


def _fields(schema: Schema) -> Iterator[Row]:
    for field in schema:
        yield field.name, str(field.dtype), field.comment or ""


def describe_database(command: DescribeDatabase, session: EngineSession) -> CommandResult:
    database = session.catalog.database(command.name)
    names = ("db_name", "comment", "location", "owner_name", "owner_type", "parameters")
    pairs = ", ".join(f"{key}={value}" for key, value in sorted(database.properties))
    parameters = f"{{{pairs}}}" if pairs and command.extended else ""
    place = uri.redacted(database.location)
    facts = (database.name, database.comment or "", place, database.owner, database.owner_kind, parameters)
    return text_rows(names, [facts])


_DESERIALIZED = "from deserializer"


def column_rows(command: DescribeTable, one: HivePartition | None, session: EngineSession) -> Iterator[Row]:
    """Rows that describe the column; for a nested struct, one row per field."""
    name, *rest = command.column
    field = command.table.shown_schema[name]
    if not rest and command.style == "formatted":
        statistics = current_statistics(command.table, one, session)
        found = None if statistics is None else statistics.column(name)
        yield from _formatted(name, field.dtype, field.comment, found)
        return
    dtype: DataType | None = field.dtype
    for part in rest:
        dtype = None if dtype is None else type_at(dtype, part)
    if rest and isinstance(dtype, StructType):
        for inner, inner_type in zip(dtype.names, dtype.types, strict=True):
            yield inner, str(inner_type), _DESERIALIZED
        return
    yield (rest[-1] if rest else name), str(dtype), _DESERIALIZED if rest else field.comment or ""


def _formatted(name: str, dtype: DataType, comment: str | None, found: ColumnStatistics | None) -> Iterator[Row]:
    yield "col_name", name, ""
    yield "data_type", str(dtype), ""
    figures = {
        "min": found and found.low,
        "max": found and found.high,
        "num_nulls": found and found.num_nulls,
        "distinct_count": found and found.num_distinct,
        "avg_col_len": found and found.average_length,
        "max_col_len": found and found.max_length,
        "num_trues": found and found.num_true,
        "num_falses": found and found.num_false,
    }
    for title, value in figures.items():
        yield title, "" if value is None else str(value), ""
    yield "comment", comment or "", ""
    if found is not None:
        yield "COLUMN_STATS_ACCURATE", f'{{"COLUMN_STATS":{{"{name}":"true"}}}}', ""


Row = tuple[str | None, str | None, str | None]
BLANK: Row = ("", None, None)


def table_details(table: Table, session: EngineSession) -> Iterator[Row]:
    yield "# Detailed Table Information", None, None
    yield "Database:", table.database, None
    yield "OwnerType:", "USER", None
    yield "Owner:", table.owner, None
    yield "CreateTime:", time_text(table), None
    yield "LastAccessTime:", "UNKNOWN", None
    yield "Retention:", "0", None
    if table.location is not None:
        yield "Location:", uri.redacted(table.location), None
    yield "Table Type:", table.kind.value, None
    parameters = dict(shown_properties(table)) | _statistics(current_statistics(table, None, session))
    if table.comment is not None:
        parameters["comment"] = table.comment
    yield from _parameters("Table Parameters:", parameters)
    if not table.is_continuous_insert:
        yield BLANK
        yield from _view_details(table) if table.is_view else _storage_details(table, table.storage)
    if facts := [*stream_facts(table, session.catalog), *watermark_facts(table, session)]:
        yield BLANK
        yield "# Stream Information", None, None
        yield from ((f"{name}:", value, None) for name, value in facts)
    yield from constraint_details(table)


def _parameters(title: str, parameters: dict[str, str]) -> Iterator[Row]:
    if parameters:
        yield title, None, None
        for key, value in sorted(parameters.items()):
            yield "", key, value


def _statistics(found: TableStatistics | None) -> dict[str, str]:
    """Statistics of ANALYZE TABLE, under Hive's names."""
    if found is None:
        return {}
    counted = {"numFiles": found.num_files, "totalSize": found.total_bytes}
    if found.num_rows is not None and found.raw_bytes is not None:
        counted |= {"numRows": found.num_rows, "rawDataSize": found.raw_bytes}
    accurate = '"BASIC_STATS":"true"' if found.num_rows is not None else ""
    if found.columns:
        listed = ",".join(f'"{name}":"true"' for name, _ in sorted(found.columns))
        accurate += f',"COLUMN_STATS":{{{listed}}}'
    marks = {"COLUMN_STATS_ACCURATE": f"{{{accurate}}}"} if accurate else {}
    return marks | {key: str(value) for key, value in counted.items()}


def _storage_details(table: Table, storage: StorageFormat) -> Iterator[Row]:
    serde, input_format, output_format = hive_classes(storage)
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
    if table.skew is not None:
        yield "Stored As SubDirectories:", "Yes" if table.skew.in_directories else "No", None
        yield "Skewed Columns:", f"[{', '.join(table.skew.columns)}]", None
        rows = [f"[{', '.join(values)}]" for values in table.skew.values]
        yield "Skewed Values:", f"[{', '.join(rows)}]", None
    if not is_lake(table):
        yield from _parameters("Storage Desc Params:", dict(storage.properties))


def _view_details(table: Table) -> Iterator[Row]:
    yield "# View Information", None, None
    yield "View Original Text:", table.written_text or table.view_text, None
    yield "View Expanded Text:", table.view_text, None


_CONSTRAINTS = (
    ("PRIMARY KEY", "# Primary Key"),
    ("FOREIGN KEY", "# Foreign Keys"),
    ("UNIQUE", "# Unique Constraints"),
    ("NOT NULL", "# Not Null Constraints"),
    ("DEFAULT", "# Default Constraints"),
    ("CHECK", "# Check Constraints"),
)


def constraint_details(table: Table) -> Iterator[Row]:
    if not table.constraints:
        return
    yield BLANK
    yield "# Constraints", None, None
    for kind, title in _CONSTRAINTS:
        found = [one for one in table.constraints if one.kind == kind]
        if not found:
            continue
        yield BLANK
        yield title, None, None
        yield "Table:", table.qualified_name, None
        for one in found:
            yield from _constraint(one)


def _constraint(one: Constraint) -> Iterator[Row]:
    yield "Constraint Name:", one.name, None
    if one.kind == "FOREIGN KEY":
        for column, parent in zip(one.columns, one.parent_columns, strict=True):
            yield f"Parent Column Name:{one.parent}.{parent}", f"Column Name:{column}", None
        return
    for column in one.columns:
        yield "Column Name:", column, None
    if one.text:
        yield "Default Value:" if one.kind == "DEFAULT" else "Check Value:", one.text, None


def table_summary(table: Table) -> str:
    columns = ", ".join(
        f"FieldSchema(name:{field.name}, type:{field.dtype}, comment:{field.comment or 'null'})"
        for field in table.schema
    )
    parameters = ", ".join(f"{key}={value}" for key, value in shown_properties(table))
    written = table.written_text or table.view_text
    view = f", viewOriginalText:{written}, viewExpandedText:{table.view_text}" if table.is_view else ""
    return (
        f"Table(tableName:{table.name}, dbName:{table.database}, createTime:{int(table.created_at)}, "
        f"sd:StorageDescriptor(cols:[{columns}], location:{uri.redacted(table.location or 'null')}), "
        f"parameters:{{{parameters}}}{view}, tableType:{table.kind.value})"
    )


def partition_details(table: Table, one: HivePartition, session: EngineSession) -> Iterator[Row]:
    yield "# Detailed Partition Information", None, None
    yield "Partition Value:", values_text(table, one), None
    yield "Database:", table.database, None
    yield "Table:", table.name, None
    yield "Location:", uri.redacted(one.folder(table)), None
    yield from _parameters("Partition Parameters:", _statistics(current_statistics(table, one, session)))
    yield BLANK
    yield from _storage_details(table, one.storage_of(table))


def values_text(table: Table, one: HivePartition) -> str:
    values = partition_values(one.name)
    return f"[{', '.join(values.get(name) or DEFAULT_VALUE for name in table.partition_columns)}]"


def partition_summary(table: Table, one: HivePartition) -> str:
    values, location = values_text(table, one), uri.redacted(one.folder(table))
    return f"Partition(values:{values}, dbName:{table.database}, tableName:{table.name}, location:{location})"

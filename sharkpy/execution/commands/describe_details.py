"""Sections of DESCRIBE FORMATTED: one fact per row, under Hive's names."""

from __future__ import annotations

from collections.abc import Iterator

from sharkpy.base import uri
from sharkpy.catalog.hive_formats import hive_classes
from sharkpy.catalog.hive_partition import DEFAULT_VALUE, HivePartition, partition_values
from sharkpy.catalog.lake_tables import is_lake
from sharkpy.catalog.model import BucketSpec, Constraint, StorageFormat, Table
from sharkpy.catalog.table_statistics import TableStatistics
from sharkpy.execution.commands.current_statistics import current_statistics
from sharkpy.execution.commands.stream_facts import stream_facts
from sharkpy.execution.commands.table_facts import shown_properties, time_text
from sharkpy.execution.commands.watermark_facts import watermark_facts
from sharkpy.execution.engine_session import EngineSession

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

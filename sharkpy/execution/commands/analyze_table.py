"""ANALYZE TABLE: statistics of a table or of its Hive partitions, written into the catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table
from sharkpy.catalog.table_statistics import ColumnStatistics, TableStatistics
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.partition_spec import by_values, matching_spec, no_such_partition
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.execution.tables.analyzed import content_of, mark_of
from sharkpy.execution.tables.data_files import files_by_partition, table_files
from sharkpy.plan.commands import AnalyzeTable
from sharkpy.sources.layout import DataFile
from sharkpy.sql.statements.bind_statistics import FIGURES

Row = tuple[object, ...]


def analyze_table(command: AnalyzeTable, session: EngineSession) -> CommandResult:
    """Compute statistics and store them in the catalog.

    If files are written meanwhile, the statistics are stale and not used. Folding of files does not make them stale. A
    table that is only in memory needs none: its blocks have statistics.
    """
    table = command.table
    if table.location is None:
        return NOTHING
    if table.is_partitioned:
        _put(_of_partitions(command, session), table, session)
    else:
        contents = session.table_cache.versions.contents
        files = table_files(table, session.catalog)
        content = contents.of(files)
        rows = _rows(command, session)
        with session.catalog.transaction():
            now = table_files(table, session.catalog)
            if contents.of(now) == content:
                files = now
            _put({"": _statistics(command, files, rows[0] if rows else None, "")}, table, session)
    session.forget_plans(table)
    return NOTHING


def _put(found: Mapping[str, TableStatistics], table: Table, session: EngineSession) -> None:
    older = session.catalog.statistics(table)
    session.catalog.put_statistics(table, {name: one.with_columns(older.get(name)) for name, one in found.items()})


def _of_partitions(command: AnalyzeTable, session: EngineSession) -> dict[str, TableStatistics]:
    table = command.table
    given = tuple((name, value) for name, value in command.partition if value is not None)
    partitions = matching_spec(table, session.catalog.partitions(table), given)
    if given and not partitions:
        raise no_such_partition(table, ", ".join(f"{name}='{value}'" for name, value in given))
    files = files_by_partition(table, partitions, session.catalog.access_id)
    rows = _rows_by_partition(table, _rows(command, session), partitions)
    empty: Row = (0, *(None for _ in command.columns for _ in FIGURES))
    found: dict[str, TableStatistics] = {}
    for one in partitions:
        row = None if command.query is None else rows.get(one.name, empty)
        found[one.name] = _statistics(command, files[one.name], row, mark_of(one))
    return found


def _rows(command: AnalyzeTable, session: EngineSession) -> list[Row]:
    if command.query is None:
        return []
    batches = query_rows(session, command.query)
    return [row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]


def _rows_by_partition(table: Table, rows: Sequence[Row], partitions: Sequence[HivePartition]) -> dict[str, Row]:
    """Return the rows of figures by name of the Hive partition, whose values are in the first columns."""
    num_keys, known = len(table.partition_columns), by_values(table, partitions)
    return {known[row[:num_keys]].name: row[num_keys:] for row in rows if row[:num_keys] in known}


def _statistics(command: AnalyzeTable, files: Sequence[DataFile], row: Row | None, mark: str) -> TableStatistics:
    table = command.table
    total = sum(file.size_bytes for file in files)
    content = content_of(files)
    if row is None:
        return TableStatistics(content, len(files), total, mark=mark)
    count, figures = row[0], row[1:]
    assert isinstance(count, int)
    raw = total - count if table.storage.name == "text" else count * len(table.data_schema)
    size = len(FIGURES)
    columns = tuple(
        (name, _column(count, figures[index * size : (index + 1) * size])) for index, name in enumerate(command.columns)
    )
    return TableStatistics(content, len(files), total, count, max(raw, 0), columns, mark)


def _column(num_rows: int, figures: Row) -> ColumnStatistics:
    count, *others = figures
    return ColumnStatistics(num_rows - (count if isinstance(count, int) else 0), *others)  # type: ignore[arg-type]

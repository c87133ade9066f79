"""ANALYZE TABLE and ALTER TABLE … UPDATE STATISTICS: statistics of the current data, computed or given by the user.

Statistics of changed files are left out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from sharkpy.base.errors import BindError, UnsupportedError, did_you_mean
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.lake_tables import is_lake
from sharkpy.catalog.model import Table
from sharkpy.catalog.table_statistics import ColumnStatistics, TableStatistics
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.partition_spec import matching_spec, no_such_partition
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.execution.tables.data_files import files_by_partition, files_if_listed, table_files
from sharkpy.execution.tables.file_contents import (
    all_partitions_statistics,
    content_digest,
    is_digest_of,
    partition_mark,
    table_statistics,
)
from sharkpy.plan.commands import AnalyzeTable, UpdateStatistics
from sharkpy.sources.layout import DataFile
from sharkpy.sources.lenient_conversion import typed_values
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
    files = files_by_partition(table, partitions, session.catalog)
    rows = _rows_by_partition(table, _rows(command, session), partitions)
    empty: Row = (0, *(None for _ in command.columns for _ in FIGURES))
    found: dict[str, TableStatistics] = {}
    for one in partitions:
        row = None if command.query is None else rows.get(one.name, empty)
        found[one.name] = _statistics(command, files[one.name], row, partition_mark(one))
    return found


def _rows(command: AnalyzeTable, session: EngineSession) -> list[Row]:
    if command.query is None:
        return []
    batches = query_rows(session, command.query)
    return [row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]


def _rows_by_partition(table: Table, rows: Sequence[Row], partitions: Sequence[HivePartition]) -> dict[str, Row]:
    """Return the rows of figures by name of the Hive partition, whose values are in the first columns."""
    values = typed_values([one.name for one in partitions], table.partition_schema)
    num_keys, known = len(table.partition_columns), dict(zip(values, partitions, strict=True))
    return {known[row[:num_keys]].name: row[num_keys:] for row in rows if row[:num_keys] in known}


def _statistics(command: AnalyzeTable, files: Sequence[DataFile], row: Row | None, mark: str) -> TableStatistics:
    table = command.table
    total = sum(file.size_bytes for file in files)
    content = content_digest(files)
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


Figures = Mapping[str, tuple[str, Callable[[str], object]]]
_OF_TABLE: Figures = {"numrows": ("num_rows", int), "rawdatasize": ("raw_bytes", int)}
_OF_COLUMN: Figures = {
    "numdvs": ("num_distinct", int),
    "numnulls": ("num_nulls", int),
    "lowvalue": ("low", str),
    "highvalue": ("high", str),
    "avgcollen": ("average_length", float),
    "maxcollen": ("max_length", int),
    "numtrues": ("num_true", int),
    "numfalses": ("num_false", int),
}
"""Field of the statistics for each of Hive's names in lower case."""


def update_statistics(command: UpdateStatistics, session: EngineSession) -> CommandResult:
    table, catalog = command.table, session.catalog
    if table.location is None:
        raise UnsupportedError(f'"{table.name}" has no files: its statistics cannot be set')
    figures = _figures(command)
    known, found = catalog.statistics(table), {}
    if table.is_partitioned:
        partitions = matching_spec(table, catalog.partitions(table), command.partition)
        if not partitions:
            raise no_such_partition(table, ", ".join(f"{name}='{value}'" for name, value in command.partition))
        files = files_by_partition(table, partitions, session.catalog)
        for one in partitions:
            base = _base(known.get(one.name), files[one.name], partition_mark(one))
            found[one.name] = _updated(base, command.column, figures)
    else:
        base = _base(known.get(""), table_files(table, session.catalog), "")
        found[""] = _updated(base, command.column, figures)
    catalog.put_statistics(table, found)
    session.forget_plans(table)
    return NOTHING


def _figures(command: UpdateStatistics) -> dict[str, object]:
    names, found = _OF_TABLE if command.column is None else _OF_COLUMN, {}
    for key, text in command.figures:
        if key.lower() not in names:
            hint = did_you_mean(key.lower(), names) or f"there are {', '.join(names)}"
            raise BindError(f'no figure "{key}"', hint=hint, sqlstate="22023")
        name, parse = names[key.lower()]
        try:
            found[name] = parse(text)
        except ValueError:
            raise BindError(f'"{text}" is not a value of {key}', sqlstate="22023") from None
    return found


def _base(known: TableStatistics | None, files: tuple[DataFile, ...], mark: str) -> TableStatistics:
    """Return the known statistics of these files, or only their number and size."""
    if known is not None and is_digest_of(known.content, files):
        return known
    return TableStatistics(content_digest(files), len(files), sum(file.size_bytes for file in files), mark=mark)


def _updated(base: TableStatistics, column: str | None, figures: dict[str, object]) -> TableStatistics:
    if column is None:
        return dataclasses.replace(base, **figures)  # type: ignore[arg-type]
    old = base.column(column) or ColumnStatistics(0)
    columns = dict(base.columns) | {column: dataclasses.replace(old, **figures)}  # type: ignore[arg-type]
    return dataclasses.replace(base, columns=tuple(columns.items()))


def current_statistics(table: Table, one: HivePartition | None, session: EngineSession) -> TableStatistics | None:
    """Return a table's or Hive partition's statistics, or None if they are stale or cannot be checked."""
    if table.is_view or table.location is None or is_lake(table):
        return None
    catalog = session.catalog
    if one is None and table.is_partitioned:
        return all_partitions_statistics(catalog, table)
    found = catalog.statistics(table).get("" if one is None else one.name)
    if found is None or (files := files_if_listed(table, one, catalog)) is None:
        return None
    if one is not None:
        return found if is_digest_of(found.content, files) else None
    return table_statistics(catalog, table, files)

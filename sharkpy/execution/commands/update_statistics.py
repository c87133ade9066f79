"""ALTER TABLE … UPDATE STATISTICS: statistics given by the user for the current data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from sharkpy.base.errors import BindError, UnsupportedError, did_you_mean
from sharkpy.catalog.table_statistics import ColumnStatistics, TableStatistics
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.partition_spec import matching_spec, no_such_partition
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.analyzed import content_of, is_content_of, mark_of
from sharkpy.execution.tables.data_files import files_by_partition, table_files
from sharkpy.plan.commands import UpdateStatistics
from sharkpy.sources.layout import DataFile

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
        files = files_by_partition(table, partitions, session.catalog.access_id)
        for one in partitions:
            base = _base(known.get(one.name), files[one.name], mark_of(one))
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
    if known is not None and is_content_of(known.content, files):
        return known
    return TableStatistics(content_of(files), len(files), sum(file.size_bytes for file in files), mark=mark)


def _updated(base: TableStatistics, column: str | None, figures: dict[str, object]) -> TableStatistics:
    if column is None:
        return dataclasses.replace(base, **figures)  # type: ignore[arg-type]
    old = base.column(column) or ColumnStatistics(0)
    columns = dict(base.columns) | {column: dataclasses.replace(old, **figures)}  # type: ignore[arg-type]
    return dataclasses.replace(base, columns=tuple(columns.items()))

"""Scans of the same files in one query: the task reads the files once, and DuckDB stores the rows that a scan needs.

Epochs of joins of streams scan each stream several times: for the join, and for the rows that the state stores.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sharkpy.base.records import dataclass
from sharkpy.execution.tasks.inputs import TaskData
from sharkpy.execution.tasks.parquet_scan import is_read_by_duckdb
from sharkpy.physical.stage_program import FileColumns, StageInput, StageProgram
from sharkpy.sources.source import Split
from sharkpy.values.types import Schema

_LIMIT = "LIMIT"
"""Word of a query that may end before it has read all rows, which then should not be stored."""


@dataclass(frozen=True, slots=True)
class SharedScan:
    """Scan of splits with all columns that any of `scans` reads."""

    whole: FileColumns
    splits: tuple[Split, ...]
    scans: tuple[FileColumns, ...]

    @property
    def queries(self) -> list[str]:
        """Common table expressions: the stored rows, and a relation of each scan.

        DuckDB stores only rows that satisfy a filter of some scan.
        """
        stored, own = f"{self.whole.relation}_rows", dict(zip(self.whole.names, self.whole.aliases, strict=True))
        found = [f"{stored} AS MATERIALIZED (SELECT * FROM {self.whole.relation})"]
        for scan in self.scans:
            columns = [f'"{own[name]}" AS "{alias}"' for name, alias in zip(scan.names, scan.aliases, strict=True)]
            items = ", ".join(columns) or 'true AS "_"'
            found.append(f"{scan.relation} AS NOT MATERIALIZED (SELECT {items} FROM {stored})")
        return found


def shared_scans(program: StageProgram, data: TaskData, small: Collection[str]) -> list[SharedScan]:
    """Return the scans of a program that read the same files. Relations in `small` are read once anyway.

    DuckDB reads columns of Parquet files about as fast as stored rows, so these scans are not shared.
    """
    if _LIMIT in program.sql:
        return []
    splits_of = dict(data.part.splits)
    alike: dict[tuple[tuple[Split, ...], Schema], list[FileColumns]] = {}
    for spec in program.inputs:
        if isinstance(spec, FileColumns) and spec.sample is None and spec.relation not in small:
            splits = splits_of.get(spec.relation, ())
            if splits and not is_read_by_duckdb(spec, splits):
                alike.setdefault((splits, spec.schema), []).append(spec)
    several = [(splits, scans) for (splits, _), scans in alike.items() if len(scans) > 1]
    first = 1 + max(map(_number, program.inputs), default=0)
    return [
        SharedScan(_whole(f"in{number}", scans), splits, tuple(scans))
        for number, (splits, scans) in enumerate(several, first)
    ]


def with_shared_scans(sql: str, shared: Collection[SharedScan]) -> str:
    """Return a query that reads shared scans instead of the relations of their scans."""
    if not shared:
        return sql
    queries = ",\n".join(query for one in shared for query in one.queries)
    begin = "WITH "
    return f"{begin}{queries},\n{sql.removeprefix(begin)}" if sql.startswith(begin) else f"{begin}{queries}\n{sql}"


def with_splits(data: TaskData, shared: Collection[SharedScan]) -> TaskData:
    """Return the task's data with the splits of shared scans."""
    splits = (*data.part.splits, *((one.whole.relation, one.splits) for one in shared))
    return replace(data, part=replace(data.part, splits=splits))


def _number(spec: StageInput) -> int:
    return int(spec.relation.removeprefix("in"))


def _whole(relation: str, scans: Collection[FileColumns]) -> FileColumns:
    """Scan of all columns of `scans`. Each alias is an alias of a scan, so profiles name a scan."""
    schema = next(iter(scans)).schema
    aliases: dict[str, str] = {}
    for scan in scans:
        aliases = dict(zip(scan.names, scan.aliases, strict=True)) | aliases
    names = tuple(name for name in schema.names if name in aliases)
    return FileColumns(relation, schema, names, tuple(aliases[name] for name in names))

"""Parquet files that DuckDB reads itself: whole files whose columns all readers read alike.

DuckDB uses all its threads, skips row groups by statistics, and knows the number of rows before it orders joins.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from sharkpy.base import uri
from sharkpy.catalog.hive_partition import partition_values
from sharkpy.physical.stage_program import FileColumns, TaskInput
from sharkpy.sources.lenient_conversion import single_value
from sharkpy.sources.open_files import check_unchanged
from sharkpy.sources.source import ReadMetrics, Split
from sharkpy.udf.duckdb_sql import lower_literal, quote_identifier, quote_string
from sharkpy.values.types import DOUBLE, FLOAT, DataType, Schema

MOST_RUNS = 64
"""Limit on the runs of a scan; more would make the query too long."""
Values = tuple[tuple[str, str | None], ...]
_PATTERN_SIGNS = frozenset("*?[")
_MOST_KNOWN = 100_000
_invalid_texts: dict[str, None] = {}
"""Paths of files found to have text that is not UTF-8, which DuckDB does not read."""


def note_invalid_text(path: str) -> bool:
    """Read a file with the engine's own reader from now on. Return False if that is already so."""
    if path in _invalid_texts:
        return False
    if len(_invalid_texts) >= _MOST_KNOWN:
        _invalid_texts.clear()
    _invalid_texts[path] = None
    return True


def for_workers(part: TaskInput) -> TaskInput:
    """Mark files with invalid text in a task's part for another process, which does not know them."""
    if not any(split.path in _invalid_texts for _, splits in part.splits for split in splits):
        return part
    marked = (
        (relation, tuple(replace(one, plain=None) if one.path in _invalid_texts else one for one in splits))
        for relation, splits in part.splits
    )
    return replace(part, splits=tuple(marked))


def parquet_query(spec: FileColumns, splits: Sequence[Split]) -> str | None:
    """Return the SELECT of the relation's rows in the order of `splits`, or None if DuckDB cannot read a file."""
    files = _files(spec, splits)
    if files is None:
        return None
    if not spec.names:
        return f'SELECT true AS "_" FROM range({sum(split.num_rows or 0 for split in splits)})'
    return " UNION ALL ".join(_select(spec, dict(values), paths) for values, paths in files)


def is_read_by_duckdb(spec: FileColumns, splits: Sequence[Split]) -> bool:
    """True if DuckDB reads the relation's files itself."""
    return _files(spec, splits) is not None


def _files(spec: FileColumns, splits: Sequence[Split]) -> list[tuple[Values, list[str]]] | None:
    """Return runs of paths with equal values of the used partition columns, or None if DuckDB cannot read a file."""
    if spec.sample is not None or not splits or not _are_whole(splits):
        return None
    runs: list[tuple[Values, list[str]]] = []
    for partition, group in itertools.groupby(splits, attrgetter("partition")):
        known, members = partition_values(partition), list(group)
        if not all(_is_readable(split, spec, known) for split in members):
            return None
        values = tuple((name, known[name]) for name in spec.names if name in known)
        if not runs or runs[-1][0] != values:
            runs.append((values, []))
        runs[-1][1].extend(dict.fromkeys(split.path for split in members))
    return runs if len(runs) <= MOST_RUNS else None


def note_files(spec: FileColumns, splits: Sequence[Split], metrics: ReadMetrics) -> int:
    """Check that the files have not changed since planning, count them as read, and return their rows."""
    for split in splits:
        check_unchanged(split)
    files = {split.path: split.plain for split in splits if split.plain is not None}
    rows = sum(file.num_rows for file in files.values())
    metrics.rows += rows
    metrics.bytes += sum(size for file in files.values() for name, size in file.column_bytes if name in spec.names)
    return rows


def _are_whole(splits: Sequence[Split]) -> bool:
    rows: dict[str, int] = defaultdict(int)
    for split in splits:
        if split.plain is None:
            return False
        rows[split.path] += split.num_rows or 0
    return all(split.plain is not None and rows[split.path] == split.plain.num_rows for split in splits)


def _is_readable(split: Split, spec: FileColumns, known: Collection[str]) -> bool:
    """True if DuckDB can read the split's file; `known` are the partition columns."""
    assert split.plain is not None  # checked by `_are_whole`
    stored = {name for name, _ in split.plain.column_bytes}.union(known)
    # For remote files, DuckDB would have to wait until all columns of all files are fetched.
    if uri.is_remote(split.path) or split.path in _invalid_texts:
        return False
    return not split.form and stored.issuperset(spec.names) and not _PATTERN_SIGNS.intersection(split.path)


def _select(spec: FileColumns, values: Mapping[str, str | None], paths: Iterable[str]) -> str:
    columns = ", ".join(
        f"{_constant(values[name], spec.schema[name].dtype) if name in values else _stored(name, spec.schema)} "
        f"AS {quote_identifier(alias)}"
        for name, alias in zip(spec.names, spec.aliases, strict=True)
    )
    files = ", ".join(map(quote_string, paths))
    return f"SELECT {columns} FROM read_parquet([{files}], hive_partitioning = false)"


def _stored(name: str, schema: Schema) -> str:
    """SQL of a stored column. A CASE hides the statistics of floats, which ignore NaN."""
    column = quote_identifier(name)
    return f"CASE WHEN {column} IS NOT NULL THEN {column} END" if schema[name].dtype in (FLOAT, DOUBLE) else column


def _constant(text: str | None, dtype: DataType) -> str:
    """SQL of a partition column's value."""
    return lower_literal(single_value(text, dtype)[0].as_py(), dtype)

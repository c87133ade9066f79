"""Parquet files that DuckDB reads itself: whole ones, whose columns every reader gives alike.

It reads with all its threads, skips row groups by their statistics, and knows the rows before it orders joins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from sharkpy.catalog.hive_partition import partition_values
from sharkpy.physical.stage import FileColumns, StageProgram, StepColumns, TaskInput
from sharkpy.sources.line_chunks import check_unchanged
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.partition_values import value_array
from sharkpy.sources.split import Split
from sharkpy.types import DOUBLE, FLOAT, DataType, Schema
from sharkpy.udf.literals import lower_literal, quote_string
from sharkpy.udf.types_duckdb import quote_identifier

MOST_PARTITIONS = 64
"""More would make a long query of one scan."""
_PATTERN_SIGNS = frozenset("*?[")


def parquet_query(spec: FileColumns, splits: Sequence[Split]) -> str | None:
    """A SELECT of the relation's rows in the order of `splits`; None where DuckDB is not to read one of the files."""
    files = _files(spec, splits)
    if files is None:
        return None
    return " UNION ALL ".join(_select(spec, partition, paths) for partition, paths in files.items())


def reads_streams(program: StageProgram, part: TaskInput) -> bool:
    """Whether an input of the program comes as a stream, of which DuckDB does not know the rows."""
    splits = dict(part.splits)
    return any(
        isinstance(spec, StepColumns)
        or (isinstance(spec, FileColumns) and _files(spec, splits.get(spec.relation, ())) is None)
        for spec in program.inputs
    )


def _files(spec: FileColumns, splits: Sequence[Split]) -> dict[str, dict[str, None]] | None:
    """The paths by Hive partition, in order; None where DuckDB is not to read one of them."""
    if spec.sample is not None or not splits or not _are_whole(splits):
        return None
    partitions: dict[str, dict[str, None]] = defaultdict(dict)
    for split in splits:
        if not _is_readable(split, spec):
            return None
        partitions[split.partition][split.path] = None
    return partitions if len(partitions) <= MOST_PARTITIONS else None


def note_files(spec: FileColumns, splits: Sequence[Split], metrics: ReadMetrics) -> int:
    """Check that the files are those that were planned with, and count them as read; their rows."""
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


def _is_readable(split: Split, spec: FileColumns) -> bool:
    assert split.plain is not None  # _are_whole
    stored = {name for name, _ in split.plain.column_bytes} | partition_values(split.partition).keys()
    return not split.form and stored.issuperset(spec.names) and not _PATTERN_SIGNS.intersection(split.path)


def _select(spec: FileColumns, partition: str, paths: Iterable[str]) -> str:
    values = partition_values(partition)
    columns = [
        f"{_constant(values[name], spec.schema[name].dtype) if name in values else _stored(name, spec.schema)} "
        f"AS {quote_identifier(alias)}"
        for name, alias in zip(spec.names, spec.aliases, strict=True)
    ]
    if not columns:
        columns = ['true AS "_"']
    files = ", ".join(map(quote_string, paths))
    return f"SELECT {', '.join(columns)} FROM read_parquet([{files}], hive_partitioning = false)"


def _stored(name: str, schema: Schema) -> str:
    """A stored column. Statistics of floats do not tell of NaN: a CASE, whose statistics are unknown, hides them."""
    column = quote_identifier(name)
    return f"CASE WHEN {column} IS NOT NULL THEN {column} END" if schema[name].dtype in (FLOAT, DOUBLE) else column


def _constant(text: str | None, dtype: DataType) -> str:
    """The value of a partition column."""
    return lower_literal(value_array([text], dtype)[0].as_py(), dtype)

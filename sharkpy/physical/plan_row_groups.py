"""Pruning of row groups of Parquet and stripes of ORC in the splits of remote files."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sharkpy.base import settings
from sharkpy.columnar.pruning import prune
from sharkpy.columnar.statistics_table import StatisticsTable
from sharkpy.physical.context import PlanContext
from sharkpy.physical.pruning_predicate import pruning_predicate
from sharkpy.plan.logical import Scan
from sharkpy.plan.references import column_ids
from sharkpy.sources.open_files import map_files
from sharkpy.sources.source import Split

_ORC = "orc"


def kept_row_groups(scan: Scan, splits: Sequence[Split], context: PlanContext) -> tuple[Split, ...]:
    """Return the splits without row groups or stripes excluded by statistics.

    Local files are not cut: DuckDB does that if it pays.
    """
    if scan.predicate is None or scan.sample is not None or not context.conf.value(settings.PRUNING):
        return tuple(splits)
    if not any(map(_has_statistics, splits)):
        return tuple(splits)
    return tuple(part for parts in map_files(lambda split: list(_kept(scan, split)), splits) for part in parts)


def _has_statistics(split: Split) -> bool:
    return bool(split.access) and not split.form and (split.plain is not None or split.format == _ORC)


def _kept(scan: Scan, split: Split) -> Iterator[Split]:
    found = _statistics(scan, split)
    if scan.predicate is None or found is None:
        yield split
        return
    known, statistics = found
    mask = prune(statistics, pruning_predicate(scan.predicate, known))
    for is_kept, run in itertools.groupby(range(split.length), key=lambda place: bool(mask[place])):
        places = list(run)
        if is_kept:
            rows = None if split.num_rows is None else int(statistics.rows[places].sum())
            yield replace(split, start=split.start + places[0], length=len(places), num_rows=rows)


def _statistics(scan: Scan, split: Split) -> tuple[dict[int, str], StatisticsTable] | None:
    """Return the predicate's columns with statistics, by their ids, and the statistics of the split's parts."""
    if scan.predicate is None or not _has_statistics(split):
        return None
    from sharkpy.sources.orc_statistics import stripe_statistics
    from sharkpy.sources.parquet_footer import row_group_statistics

    data, used = scan.table.data_schema, column_ids(scan.predicate)
    stored = data.names if split.plain is None else [name for name, _ in split.plain.column_bytes]
    names = {
        column.column_id: name
        for column, name in zip(scan.columns, scan.names, strict=True)
        if column.column_id in used and name in stored
    }
    if not names:
        return None
    read = stripe_statistics if split.plain is None else row_group_statistics
    schema, statistics = read(split, data.select(sorted(set(names.values()))))
    known = {column_id: name for column_id, name in names.items() if name in schema.names}
    return (known, statistics) if known else None

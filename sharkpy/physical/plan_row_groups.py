"""Splits of remote Parquet files without the row groups that cannot have rows for a scan's predicate."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sharkpy.base import settings
from sharkpy.columnar.pruning import prune
from sharkpy.physical.context import PlanContext
from sharkpy.physical.pruning_predicate import pruning_predicate
from sharkpy.plan.logical import Scan
from sharkpy.plan.references import column_ids
from sharkpy.sources.local_copy import of_each
from sharkpy.sources.split import Split


def kept_row_groups(scan: Scan, splits: Sequence[Split], context: PlanContext) -> tuple[Split, ...]:
    """The splits, cut where their files' statistics leave row groups out. Of local files none is: DuckDB does that."""
    if scan.predicate is None or scan.sample is not None or not context.conf.value(settings.PRUNING):
        return tuple(splits)
    if not any(map(_has_statistics, splits)):
        return tuple(splits)
    return tuple(part for parts in of_each(lambda split: list(_kept(scan, split)), splits) for part in parts)


def _has_statistics(split: Split) -> bool:
    return bool(split.access) and split.plain is not None and not split.form


def _kept(scan: Scan, split: Split) -> Iterator[Split]:
    if scan.predicate is None or split.plain is None or not _has_statistics(split):
        yield split
        return
    from sharkpy.sources.row_group_statistics import row_group_statistics

    used, stored = column_ids(scan.predicate), dict(split.plain.column_bytes)
    names = {
        column.column_id: name
        for column, name in zip(scan.columns, scan.names, strict=True)
        if column.column_id in used and name in stored
    }
    if not names:
        yield split
        return
    schema, statistics = row_group_statistics(split, scan.schema.select(sorted(set(names.values()))))
    known = {column_id: name for column_id, name in names.items() if name in schema.names}
    if not known:
        yield split
        return
    mask = prune(statistics, pruning_predicate(scan.predicate, known))
    for is_kept, run in itertools.groupby(range(split.length), key=lambda place: bool(mask[place])):
        places = list(run)
        if is_kept:
            rows = int(statistics.rows[places].sum())
            yield replace(split, start=split.start + places[0], length=len(places), num_rows=rows)

"""Aggregates answered by statistics without reading a block or file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from sharkpy.base import settings
from sharkpy.base.records import dataclass
from sharkpy.columnar.statistics_table import StatisticsAnswer, StatisticsTable
from sharkpy.columnar.version import TableVersion
from sharkpy.physical.hive_partitions import HivePartitions, PartitionRead
from sharkpy.physical.plan_context import PlanContext
from sharkpy.physical.pruning import keeps_whole_blocks, kept_blocks
from sharkpy.plan.expr import AggregateCall, Alias, ColumnRef, Expr, Literal, PythonValue
from sharkpy.plan.logical import Aggregate, LogicalPlan, Project, Scan, Values
from sharkpy.sources.source import Split
from sharkpy.values.types import is_nested


def answer_from_statistics(plan: LogicalPlan, context: PlanContext) -> LogicalPlan:
    """Replace each aggregate that statistics of its table's blocks or files answer by a row of values."""
    if not context.conf.value(settings.STATISTICS_ANSWERS) or not context.conf.value(settings.PRUNING):
        return plan

    def answer(node: LogicalPlan) -> LogicalPlan:
        return (_answered(node, context) or node) if isinstance(node, Aggregate) else node

    return plan.transform_up(answer)


def may_be_answered(plan: LogicalPlan) -> bool:
    """True if statistics may answer an aggregate of the plan, for these or other rows."""
    return any(isinstance(node, Aggregate) and _scan_aggregates(node) is not None for node in plan.walk())


def _answered(node: Aggregate, context: PlanContext) -> LogicalPlan | None:
    asked = _scan_aggregates(node)
    known = None if asked is None else _scan_statistics(asked.scan, asked.names, context)
    if asked is None or known is None:
        return None
    row: list[Expr] = []
    for call in asked.calls:
        answer = _ANSWERS[call.function](call, known)
        if answer is None:
            return None
        row.append(Literal(cast("PythonValue", answer.value), call.dtype))
    return Values(tuple(item.ref for item in node.aggregates), (tuple(row),))


@dataclass(frozen=True, slots=True)
class _ScanAggregates:
    """Aggregates over all rows of a scan, and the stored column of each column id."""

    scan: Scan
    names: dict[int, str]
    calls: tuple[AggregateCall, ...]


def _scan_aggregates(node: Aggregate) -> _ScanAggregates | None:
    """Return the scan and calls of an aggregate that statistics may answer, or None if they never can."""
    found = None if node.groups or not node.aggregates else scan_below(node.child)
    calls = tuple(item.expr for item in node.aggregates if isinstance(item.expr, AggregateCall))
    if found is None or len(calls) < len(node.aggregates) or not all(map(_may_answer, calls)):
        return None
    return None if found[0].sample is not None else _ScanAggregates(*found, calls)


def _scan_statistics(scan: Scan, names: dict[int, str], context: PlanContext) -> _ScanStatistics | None:
    """Return statistics of exactly the scan's rows, or None."""
    if scan.is_of_files:
        return None
    match context.scan_source(scan.table):
        case TableVersion() as version:
            return _of_blocks(scan, names, version)
        case HivePartitions() as partitions:
            return _of_partitions(scan, names, partitions)
        case [*splits] if scan.predicate is None:
            return _of_splits(splits, names)
    return None


def _of_blocks(scan: Scan, names: dict[int, str], version: TableVersion) -> _ScanStatistics | None:
    if not keeps_whole_blocks(scan, version):
        return None
    kept = kept_blocks(scan, version)
    statistics = version.statistics if kept is None else version.statistics.part(kept)
    return _ScanStatistics(statistics.count(), names, statistics)


def _of_splits(splits: Sequence[Split], names: dict[int, str]) -> _ScanStatistics | None:
    """Return the number of rows if all files state it, else None."""
    counts = [split.num_rows for split in splits]
    return None if None in counts else _ScanStatistics(sum(count or 0 for count in counts), names)


def _of_partitions(scan: Scan, names: dict[int, str], partitions: HivePartitions) -> _ScanStatistics | None:
    """Return statistics if the predicate keeps whole Hive partitions; only a row count if some are in files."""
    wanted = partitions.whole(scan)
    if wanted is None:
        return None
    found = partitions.read(wanted) if wanted else PartitionRead(None, ())
    in_files = _of_splits(found.splits, names)
    if in_files is None or found.version is None:
        return in_files
    in_blocks = _of_blocks(scan, names, found.version)
    if in_blocks is None or not found.splits:
        return in_blocks
    return _ScanStatistics(in_blocks.num_rows + in_files.num_rows, names)


def scan_below(plan: LogicalPlan) -> tuple[Scan, dict[int, str]] | None:
    """Return the scan below renaming projections and the stored column of each column id, or None."""
    match plan:
        case Scan():
            return plan, {column.column_id: name for column, name in zip(plan.columns, plan.names, strict=True)}
        case Project(child, items):
            found = scan_below(child)
            if found is None:
                return None
            names = dict(found[1])
            for item in items:
                if isinstance(item, Alias) and isinstance(item.expr, ColumnRef) and item.expr.column_id in names:
                    names[item.column_id] = names[item.expr.column_id]
            return found[0], names
    return None


def _may_answer(call: AggregateCall) -> bool:
    if call.function not in _ANSWERS or call.filter is not None:
        return False
    if call.distinct and call.function == "count":
        return False
    return all(isinstance(arg, (ColumnRef, Literal)) and not is_nested(arg.dtype) for arg in call.args)


@dataclass(frozen=True, slots=True)
class _ScanStatistics:
    """Number of rows, the stored column of each column id, and the blocks' statistics, if there are blocks."""

    num_rows: int
    names: dict[int, str]
    statistics: StatisticsTable | None = None


def _count(call: AggregateCall, known: _ScanStatistics) -> StatisticsAnswer | None:
    match call.args:
        case ():
            return StatisticsAnswer(known.num_rows)
        case (Literal(value),):
            return StatisticsAnswer(0 if value is None else known.num_rows)
        case (ColumnRef(column_id),) if column_id in known.names and known.statistics is not None:
            return StatisticsAnswer(known.statistics.count_valid(known.names[column_id]))
    return None


def _min(call: AggregateCall, known: _ScanStatistics) -> StatisticsAnswer | None:
    match call.args:
        case (ColumnRef(column_id),) if column_id in known.names and known.statistics is not None:
            return known.statistics.minimum(known.names[column_id])
    return None


def _max(call: AggregateCall, known: _ScanStatistics) -> StatisticsAnswer | None:
    match call.args:
        case (ColumnRef(column_id),) if column_id in known.names and known.statistics is not None:
            return known.statistics.maximum(known.names[column_id])
    return None


_ANSWERS: dict[str, Callable[[AggregateCall, _ScanStatistics], StatisticsAnswer | None]] = {
    "count": _count,
    "min": _min,
    "max": _max,
}

"""Keys of joins that restrict scans in the same stage: a row without a match contributes nothing.

The edges only name columns. A task decides with the number of rows which of them it uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sharkpy.base.records import dataclass
from sharkpy.optimizer.decisions import Decision
from sharkpy.physical.learned_filters import JoinEdge, integer_column, join_edges, targets, through_project
from sharkpy.physical.lowering.lower_scan import has_code, is_read_by_kernels, may_be_reduced
from sharkpy.physical.operators import (
    BlockScan,
    Filter,
    Generate,
    HashAggregate,
    HashJoin,
    LimitOperator,
    NestedLoopJoin,
    Project,
    SortOperator,
    StepOperator,
    TopN,
    WindowOperator,
)
from sharkpy.physical.plan import PhysicalPlan, column_name
from sharkpy.physical.plan_join import split_condition
from sharkpy.physical.stage_program import KeyEdge
from sharkpy.plan.expr import Alias, ColumnRef, Expr
from sharkpy.plan.logical import JoinKind
from sharkpy.plan.references import column_ids
from sharkpy.plan.references import substitute as substituted
from sharkpy.values.types import DATE


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """Column of a scan that kernels read, of integers or days."""

    scan: BlockScan
    column: ColumnRef


def key_edges(
    fragment: PhysicalPlan, leaves: Sequence[tuple[str, PhysicalPlan]], shared: Mapping[int, object]
) -> tuple[tuple[KeyEdge, ...], tuple[Decision, ...]]:
    """Return the edges between scans that have relations in `leaves`, and the decision about them.

    `shared` has the id() of each aggregate that is computed once for several places. Edges do not cross it, since its
    other places need all groups.
    """
    relations = {id(leaf): relation for relation, leaf in leaves}
    found: dict[KeyEdge, tuple[BlockScan, BlockScan]] = {}
    above = dict(_shared_above(fragment, shared, frozenset()))
    for join in _own_nodes(fragment):
        for edge in _edges(join):
            source = key_origin(edge.build, edge.build_key)
            if source is None or edge.null_safe or not source.scan.is_whole:
                continue
            for target in targets(edge.probe, edge.probe_key):
                one = key_column(target.scan, target.key) if isinstance(target.scan, BlockScan) else None
                if one is None or above.get(id(one.scan)) != above[id(join)]:
                    continue
                if id(one.scan) in relations and id(source.scan) in relations:
                    names = [column_name(end.column.column_id) for end in (one, source)]
                    key = KeyEdge(relations[id(one.scan)], names[0], relations[id(source.scan)], names[1])
                    found[key] = (one.scan, source.scan)
    if not any(may_be_reduced(scan) for scan, _ in found.values()):
        return (), ()
    tables = ", ".join(dict.fromkeys(scan.table_name for scan, _ in found.values()))
    text = f"kernels may leave out rows of {tables} that have no match in a join"
    return tuple(found), (Decision("key_edge", text, is_planned=True),)


def _edges(plan: PhysicalPlan) -> list[JoinEdge]:
    """Return how inputs of `plan` may restrict each other, also by a filter on the single row of a subquery."""
    match plan:
        case HashJoin():
            return join_edges(plan)
        case Filter(NestedLoopJoin(left, right, JoinKind.SINGLE), predicate):
            terms = split_condition(predicate, left, right)
            pairs = zip(terms.left, terms.right, terms.null_safe, strict=True)
            return [JoinEdge(right, key, left, one, "left", null_safe) for one, key, null_safe in pairs]
    return []


def _own_nodes(plan: PhysicalPlan) -> Iterator[PhysicalPlan]:
    """Yield the operators whose inputs belong to the same program."""
    yield plan
    if not isinstance(plan, StepOperator):
        for child in plan.children:
            yield from _own_nodes(child)


def _shared_above(
    plan: PhysicalPlan, shared: Mapping[int, object], above: frozenset[int]
) -> Iterator[tuple[int, frozenset[int]]]:
    """Yield the id() of each operator, and the ids of the shared aggregates above it."""
    yield id(plan), above
    if id(plan) in shared:
        above |= {id(plan)}
    for child in plan.children:
        yield from _shared_above(child, shared, above)


def key_origin(plan: PhysicalPlan, key: Expr) -> KeyColumn | None:
    """Return the scan's column that has all values of `key`, an expression over the output of `plan`."""
    match plan:
        case BlockScan():
            return key_column(plan, key)
        case Filter() | SortOperator() | TopN() | LimitOperator() | WindowOperator() | Generate():
            return key_origin(plan.child, key) if _is_over(key, plan.child) else None
        case Project():
            return key_origin(plan.child, through_project(plan, key))
        case HashAggregate():
            items = {item.column_id: item.expr for item in plan.groups if isinstance(item, Alias)}
            below = substituted(key, items)
            is_group = column_ids(key) <= {column.column_id for column in plan.group_columns}
            return key_origin(plan.child, below) if is_group else None
        case HashJoin() | NestedLoopJoin():
            side = next((side for side in (plan.left, plan.right) if _is_over(key, side)), None)
            return None if side is None else key_origin(side, key)
    return None


def key_column(scan: BlockScan, key: Expr) -> KeyColumn | None:
    is_date = isinstance(key, ColumnRef) and key.dtype == DATE and key.column_id in scan.names_by_id
    column = key if isinstance(key, ColumnRef) and is_date else integer_column(scan, key)
    usable = column is not None and is_read_by_kernels(scan) and has_code(scan, column)
    return KeyColumn(scan, column) if column is not None and usable else None


def _is_over(key: Expr, plan: PhysicalPlan) -> bool:
    ids = column_ids(key)
    return bool(ids) and ids <= {column.column_id for column in plan.output}

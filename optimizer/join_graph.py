"""A group of inner joins as a graph: relations, equalities and other conditions between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from sharkpy.base.records import dataclass
from sharkpy.optimizer.context import Context
from sharkpy.optimizer.estimate import base_distinct, base_rows, column_estimate, common_range_shares, estimate_rows
from sharkpy.plan.expr import Call, ColumnRef, Expr, conjunction, conjuncts
from sharkpy.plan.logical import Filter, Join, JoinKind, LogicalPlan, Project, Scan
from sharkpy.values.types import BOOLEAN

_OTHER_SELECTIVITY = 1 / 3


@dataclass(frozen=True, slots=True)
class KeyClass:
    """Columns that an inner join makes equal. `members` are (relation, column, distinct values)."""

    members: tuple[tuple[int, ColumnRef, float], ...]
    mask: int
    _found: dict[int, tuple[ColumnRef, float]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Results of `member`. The search joins each set of relations with many sets."""

    def member(self, mask: int) -> tuple[ColumnRef, float]:
        """Return the column with the fewest values among the relations in `mask`, and their number."""
        found = self._found.get(mask)
        if found is None:
            _, column, ndv = min((m for m in self.members if mask >> m[0] & 1), key=lambda m: m[2])
            found = self._found[mask] = column, ndv
        return found


@dataclass(frozen=True, slots=True)
class Condition:
    """A term other than an equality of two columns. It applies once the relations of `mask` are joined."""

    expr: Expr
    mask: int
    selectivity: float
    is_equality: bool


@dataclass(frozen=True, slots=True)
class JoinGraph:
    """A join graph. Sets of relations are bit masks. `neighbours[i]` are the relations that share a condition with i.

    `rows` counts only the rows whose keys are in the range of the keys that they are joined with.
    """

    relations: tuple[LogicalPlan, ...]
    rows: tuple[float, ...]
    unfiltered: tuple[float, ...]
    classes: tuple[KeyClass, ...]
    conditions: tuple[Condition, ...]
    neighbours: tuple[int, ...]


def is_reorderable(plan: LogicalPlan) -> bool:
    """Return whether the join may be reordered with adjacent joins."""
    return isinstance(plan, Join) and plan.kind in (JoinKind.INNER, JoinKind.CROSS) and plan.hint is None


def flatten_joins(plan: LogicalPlan) -> tuple[list[LogicalPlan], list[Expr]]:
    """Return the relations and the condition terms of a group of joins. Projections to columns are skipped."""
    relations: list[LogicalPlan] = []
    terms: list[Expr] = []
    _flatten(plan, relations, terms)
    return relations, terms


def _flatten(node: LogicalPlan, relations: list[LogicalPlan], terms: list[Expr]) -> None:
    if isinstance(node, Join) and is_reorderable(node):
        terms.extend(conjuncts(node.condition))
        _flatten(node.left, relations, terms)
        _flatten(node.right, relations, terms)
    elif isinstance(node, Project) and is_reorderable(node.child) and all(isinstance(i, ColumnRef) for i in node.items):
        _flatten(node.child, relations, terms)
    else:
        relations.append(node)


def build_graph(relations: Sequence[LogicalPlan], terms: Sequence[Expr], context: Context) -> JoinGraph:
    home = {column_id: index for index, relation in enumerate(relations) for column_id in context.output_ids(relation)}
    equalities, others = [], []
    kept = list(relations)
    for term in terms:
        match term:
            case Call("eq", (ColumnRef() as one, ColumnRef() as other)) if one.dtype == other.dtype:
                equalities.append((one, other))
            case _ if len({home[column_id] for column_id in context.ids(term)}) < 2:
                index = next((home[column_id] for column_id in context.ids(term)), 0)
                kept[index] = Filter(kept[index], term)
            case _:
                others.append(term)
    classes = []
    met = [1.0] * len(kept)
    for columns in _merged(equalities):
        members: list[tuple[int, ColumnRef, float]] = []
        for column in columns:
            index = home[column.column_id]
            twin = next((m for m in members if m[0] == index), None)
            if twin is not None:
                kept[index] = Filter(kept[index], Call("eq", (twin[1], column), BOOLEAN))
            members.append((index, column, base_distinct(column, relations[index], context)))
        shares = common_range_shares([(column, relations[index]) for index, column, _ in members], context)
        for place, ((index, column, ndv), share) in enumerate(zip(members, shares, strict=True)):
            members[place] = (index, column, max(ndv * share, 1.0))
            met[index] = min(met[index], share)
        classes.append(KeyClass(tuple(members), _mask(index for index, _, _ in members)))
    conditions = tuple(_condition(term, home, relations, context) for term in others)
    unfiltered = tuple(_unfiltered(relation, context) for relation in relations)
    rows = tuple(
        min(estimate_rows(relation, context), max(most * share, 1.0))
        for relation, most, share in zip(kept, unfiltered, met, strict=True)
    )
    links = [key_class.mask for key_class in classes] + [condition.mask for condition in conditions]
    neighbours = tuple(_union(link for link in links if link >> i & 1) & ~(1 << i) for i in range(len(kept)))
    return JoinGraph(tuple(kept), rows, unfiltered, tuple(classes), conditions, neighbours)


def _merged(equalities: list[tuple[ColumnRef, ColumnRef]]) -> list[list[ColumnRef]]:
    """Return the classes of columns that equalities make equal."""
    classes: list[dict[int, ColumnRef]] = []
    for one, other in equalities:
        new = {one.column_id: one, other.column_id: other}
        touching = [found for found in classes if one.column_id in found or other.column_id in found]
        for found in touching:
            classes.remove(found)
        merged: dict[int, ColumnRef] = {}
        for found in (*touching, new):
            merged.update(found)
        classes.append(merged)
    return [list(found.values()) for found in classes]


def _mask(indexes: object) -> int:
    return _union(1 << index for index in indexes)  # type: ignore[attr-defined]


def _union(masks: object) -> int:
    result = 0
    for mask in masks:  # type: ignore[attr-defined]
        result |= mask
    return result


def _unfiltered(relation: LogicalPlan, context: Context) -> float:
    return base_rows(relation, context) if isinstance(relation, Scan) else estimate_rows(relation, context)


def _condition(term: Expr, home: dict[int, int], relations: Sequence[LogicalPlan], context: Context) -> Condition:
    mask = _mask(home[column_id] for column_id in context.ids(term))
    match term:
        case Call("eq" | "eq_null_safe", (one, other)):
            sides = [_mask(home[column_id] for column_id in context.ids(side)) for side in (one, other)]
            if sides[0] and sides[1] and not sides[0] & sides[1]:
                keys = [_keys(side, home, relations, context) for side in (one, other)]
                return Condition(term, mask, 1.0 / max(1.0, *keys), True)
    return Condition(term, mask, _OTHER_SELECTIVITY, False)


def _keys(side: Expr, home: dict[int, int], relations: Sequence[LogicalPlan], context: Context) -> float:
    ids = context.ids(side)
    relation = relations[home[next(iter(ids))]]
    if len(ids) == 1 and (ndv := column_estimate(next(iter(ids)), relation, context).ndv) is not None:
        return ndv
    return estimate_rows(relation, context)


def join_step(graph: JoinGraph, left: int, left_rows: float, right: int, right_rows: float) -> tuple[float, bool]:
    """Estimate the rows of the join of the sets `left` and `right`, and return whether an equality joins them."""
    rows = left_rows * right_rows
    crossing = [c for c in graph.classes if c.mask & left and c.mask & right]
    has_equality = bool(crossing)
    if len(crossing) == 1:
        rows /= max(crossing[0].member(left)[1], crossing[0].member(right)[1], 1.0)
    elif crossing:
        rows /= min(_combined(graph, crossing, left), _combined(graph, crossing, right))
    both = left | right
    for condition in graph.conditions:
        if condition.mask & ~both == 0 and condition.mask & ~left and condition.mask & ~right:
            rows *= condition.selectivity
            has_equality = has_equality or condition.is_equality
    return max(rows, 0.01), has_equality


def _combined(graph: JoinGraph, classes: Sequence[KeyClass], mask: int) -> float:
    """Estimate the distinct values of several keys together: at most the rows of the relation, if only one has them."""
    product = 1.0
    for key_class in classes:
        product *= max(key_class.member(mask)[1], 1.0)
    if mask & (mask - 1) == 0:
        product = min(product, graph.unfiltered[mask.bit_length() - 1])
    return max(product, 1.0)


def step_condition(graph: JoinGraph, left: int, right: int) -> Expr | None:
    """Return the condition for the join of the sets `left` and `right`."""
    both = left | right
    terms: list[Expr] = [
        Call("eq", (key_class.member(left)[0], key_class.member(right)[0]), BOOLEAN)
        for key_class in graph.classes
        if key_class.mask & left and key_class.mask & right
    ]
    terms += [
        condition.expr
        for condition in graph.conditions
        if condition.mask & ~both == 0 and condition.mask & ~left and condition.mask & ~right
    ]
    return conjunction(terms)

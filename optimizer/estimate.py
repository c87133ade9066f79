"""Cardinality estimates: the number of rows of a plan, and the share of rows that match a predicate.

The model is System R's (Selinger et al., "Access Path Selection", SIGMOD 1979, section 4): uniform values, independent
predicates, and the smaller set of keys contained in the larger one. Ranges of one column are combined.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal

from sharkpy.optimizer.context import ColumnEstimate, Context
from sharkpy.plan.expr import Alias, Call, Cast, ColumnRef, Expr, InSet, Literal, PythonValue, conjuncts
from sharkpy.plan.logical import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Given,
    Join,
    JoinKind,
    Limit,
    LogicalPlan,
    Project,
    Scan,
    Union,
    Values,
)

DEFAULT_ROWS = 100_000.0
"""Rows of a table without statistics."""
DEFAULT_SELECTIVITY = 1 / 3
EQUAL_SELECTIVITY = 0.05
LIKE_SELECTIVITY = 0.1
HAVING_SELECTIVITY = 0.1
"""Share of groups that match a condition on an aggregate."""
GENERATED_ROWS = 5.0
_REPEATED = 1.5
"""Rows of each key from which keys repeat; numbers of distinct values are estimates."""

_UNKNOWN = ColumnEstimate()


def estimate_rows(plan: LogicalPlan, context: Context) -> float:
    """Estimate the rows of `plan`, at least a fraction of one."""
    entry = context.rows.get(id(plan))
    if entry is None:
        entry = context.rows[id(plan)] = (plan, max(_rows(plan, context), 0.01))
    return entry[1]


def base_rows(plan: Scan, context: Context) -> float:
    rows = context.statistics.num_rows(plan.table)
    fraction = 1.0 if plan.sample is None else plan.sample.fraction
    return (DEFAULT_ROWS if rows is None else float(rows)) * fraction


def _rows(plan: LogicalPlan, context: Context) -> float:
    match plan:
        case Scan():
            return base_rows(plan, context) * selectivity(conjuncts(plan.predicate), plan, context)
        case Values():
            return float(len(plan.rows))
        case Given(_, given):
            return DEFAULT_ROWS if given.num_rows is None else float(given.num_rows)
        case Filter(child, predicate):
            return estimate_rows(child, context) * selectivity(conjuncts(predicate), child, context)
        case Aggregate():
            return group_rows(plan.groups, plan.child, context) if plan.groups else 1.0
        case Join():
            return _join_rows(plan, context)
        case Expand():
            return estimate_rows(plan.child, context) * len(plan.projections)
        case Generate():
            return estimate_rows(plan.child, context) * GENERATED_ROWS
        case Limit(child, count):
            rows = estimate_rows(child, context)
            return rows if count is None else min(rows, float(count))
        case Union():
            return sum(estimate_rows(child, context) for child in plan.inputs)
    return estimate_rows(plan.child, context)  # type: ignore[attr-defined]


def group_rows(keys: Iterable[Expr], plan: LogicalPlan, context: Context) -> float:
    """Estimate the groups of `plan` by `keys`: at most its rows, and for keys of one table at most that
    table's rows.
    """
    rows = estimate_rows(plan, context)
    of_nodes: dict[int, float] = {}
    for key in keys:
        ref = _single_column(key)
        node = None if ref is None else resolve(ref.column_id, plan, context)[0]
        limit = rows if node is None else min(rows, estimate_rows(node, context))
        groups = of_nodes.get(id(node), 1.0) * distinct_values(key, plan, context)
        of_nodes[id(node)] = min(groups, max(limit, 1.0))
    return min(math.prod(of_nodes.values()), rows)


def _join_rows(plan: Join, context: Context) -> float:
    left, right = estimate_rows(plan.left, context), estimate_rows(plan.right, context)
    terms = conjuncts(plan.condition)
    if plan.kind in (JoinKind.SEMI, JoinKind.ANTI, JoinKind.NULL_AWARE_ANTI):
        matched = min(1.0, _semi_selectivity(plan, terms, context))
        return left * (matched if plan.kind is JoinKind.SEMI else max(1.0 - matched, 0.1))
    if plan.kind is JoinKind.SINGLE:
        return left
    rows = _equal_pairs(plan, terms, context)
    for term in terms:
        if not _is_equality(term):
            rows *= DEFAULT_SELECTIVITY
    if plan.kind in (JoinKind.LEFT, JoinKind.FULL):
        rows = max(rows, left)
    if plan.kind in (JoinKind.RIGHT, JoinKind.FULL):
        rows = max(rows, right)
    return rows


def _semi_selectivity(plan: Join, terms: Sequence[Expr], context: Context) -> float:
    """Estimate the share of left rows with a match: the number of right keys divided by the number of left keys."""
    share = 1.0
    for term in terms:
        match term:
            case Call("eq" | "eq_null_safe", (one, other)):
                left_ids = context.output_ids(plan.left)
                if not context.ids(one) <= left_ids:
                    one, other = other, one
                left_keys = base_distinct(one, plan.left, context)
                right_keys = distinct_values(other, plan.right, context)
                share = min(share, right_keys / max(left_keys, 1.0))
    return share


def _is_equality(term: Expr) -> bool:
    return isinstance(term, Call) and term.function in ("eq", "eq_null_safe")


def _equal_pairs(plan: Join, terms: Sequence[Expr], context: Context) -> float:
    """Estimate the pairs of rows with equal join keys: all pairs divided by the number of distinct keys."""
    left_ids = context.output_ids(plan.left)
    sides: tuple[list[Expr], list[Expr]] = ([], [])
    for term in terms:
        match term:
            case Call("eq" | "eq_null_safe", (one, other)):
                is_left = context.ids(one) <= left_ids
                sides[0].append(one if is_left else other)
                sides[1].append(other if is_left else one)
    if len(sides[0]) == 1:
        keys = ((sides[0][0], plan.left), (sides[1][0], plan.right))
        (left_rows, left), (right_rows, right) = (
            _met(key, side, share, context)
            for (key, side), share in zip(keys, common_range_shares(keys, context), strict=True)
        )
        return left_rows * right_rows / max(left, right, 1.0)
    rows = estimate_rows(plan.left, context) * estimate_rows(plan.right, context)
    (left, left_depends), (right, right_depends) = (
        _combined(keys, node, context) for keys, node in zip(sides, (plan.left, plan.right), strict=True)
    )
    # The keys of each side come from one node. So one side refers to the other, and row counts are too loose a bound.
    return rows / max(1.0, min(left, right) if left_depends and right_depends else max(left, right))


def _met(key: Expr, plan: LogicalPlan, share: float, context: Context) -> tuple[float, float]:
    """Estimate the rows of `plan` whose key is in the range of the other side's keys, and their distinct keys."""
    rows, keys = estimate_rows(plan, context), base_distinct(key, plan, context)
    if share < 1.0 and isinstance(key, ColumnRef):
        node = resolve(key.column_id, plan, context)[0]
        most = base_rows(node, context) if isinstance(node, Scan) else rows
        rows = min(rows, max(most * share, 1.0)) if rows <= most else rows
    return rows, keys * share


def _combined(keys: Sequence[Expr], plan: LogicalPlan, context: Context) -> tuple[float, bool]:
    """Estimate the distinct values of several keys together, and whether they come from one node. Then its rows are a
    bound.
    """
    product = 1.0
    for key in keys:
        product *= max(base_distinct(key, plan, context), 1.0)
    refs = [_single_column(key) for key in keys]
    nodes = {id(node): node for ref in refs if ref is not None and (node := resolve(ref.column_id, plan, context)[0])}
    if None in refs or len(nodes) != 1:
        return product, False
    (node,) = nodes.values()
    return min(product, base_rows(node, context) if isinstance(node, Scan) else estimate_rows(node, context)), True


def repeats(keys: Sequence[Expr], plan: LogicalPlan, context: Context) -> bool:
    """Whether a combination of `keys` is expected to occur in several rows of `plan`, or of the scan that has them."""
    refs = [_single_column(key) for key in keys]
    nodes = [None if ref is None else _ungrouped_source(ref.column_id, plan, context) for ref in refs]
    scan = nodes[0] if nodes else None
    is_of_scan = all(node is scan for node in nodes)
    rows = base_rows(scan, context) if isinstance(scan, Scan) and is_of_scan else estimate_rows(plan, context)
    return rows > _REPEATED * math.prod(base_distinct(key, plan, context) for key in keys)


def _ungrouped_source(column_id: int, plan: LogicalPlan, context: Context) -> LogicalPlan | None:
    """Return the node that `resolve` finds, or None if its rows are grouped above it."""
    node, source = resolve(column_id, plan, context)
    while plan is not node:
        match plan:
            case Aggregate():
                return None
            case Join():
                plan = plan.left if column_id in context.output_ids(plan.left) else plan.right
            case Project(child, items):
                column_id, plan = _item_source(items, column_id) or source, child
            case _:
                plan = plan.child  # type: ignore[attr-defined]
    return node


def _item_source(items: Sequence[Alias | ColumnRef], column_id: int) -> int | None:
    for item in items:
        if item.column_id == column_id:
            expr = item.expr if isinstance(item, Alias) else item
            return expr.column_id if isinstance(expr, ColumnRef) else None
    return None


def resolve(column_id: int, plan: LogicalPlan, context: Context) -> tuple[LogicalPlan | None, int]:
    """Find the node below `plan` that computes or reads the column, through joins and renamings, and the column's id
    there.
    """
    entry = context.sources.get(column_id)
    if entry is not None:
        return entry
    original = column_id
    node: LogicalPlan | None = plan
    while isinstance(node, LogicalPlan) and not isinstance(node, (Scan, Values, Given, Union, Expand)):
        match node:
            case Project(child, items) | Aggregate(child, items, _):
                source = _item_source(items, column_id)
                if source is None:
                    break
                column_id, node = source, child
            case Join():
                node = node.left if column_id in context.output_ids(node.left) else node.right
            case _:
                child = node.child  # type: ignore[attr-defined]
                if column_id not in context.output_ids(child):
                    break
                node = child
    context.sources[original] = (node, column_id)
    return node, column_id


def column_estimate(column_id: int, plan: LogicalPlan, context: Context) -> ColumnEstimate:
    """Return the statistics of the table column that an output column reads, or unknown ones if it is computed."""
    node, source_id = resolve(column_id, plan, context)
    if isinstance(node, Scan):
        for column, name in zip(node.columns, node.names, strict=True):
            if column.column_id == source_id:
                return context.statistics.column(node.table, name) or _UNKNOWN
    return _UNKNOWN


def base_distinct(expr: Expr, plan: LogicalPlan, context: Context) -> float:
    """Estimate the distinct values of `expr` before any filter. For a key without statistics, it is the number
    of rows.
    """
    ref = _single_column(expr)
    if ref is None:
        return estimate_rows(plan, context)
    node = resolve(ref.column_id, plan, context)[0]
    if isinstance(node, Scan):
        ndv = column_estimate(ref.column_id, plan, context).ndv
        return base_rows(node, context) if ndv is None else max(ndv, 1.0)
    if node is None:
        return estimate_rows(plan, context)
    return estimate_rows(node, context)


def distinct_values(expr: Expr, plan: LogicalPlan, context: Context) -> float:
    """Estimate the distinct values of `expr` among the rows of `plan`."""
    if isinstance(expr, Literal):
        return 1.0
    values = base_distinct(expr, plan, context) * _kept_values(expr, plan, context)
    return max(1.0, min(values, estimate_rows(plan, context)))


def _kept_values(expr: Expr, plan: LogicalPlan, context: Context) -> float:
    """Estimate the share of a column's values that match its scan's conditions on this column."""
    ref = _single_column(expr)
    node, source_id = (None, 0) if ref is None else resolve(ref.column_id, plan, context)
    if not isinstance(node, Scan) or node.predicate is None:
        return 1.0
    return selectivity([term for term in conjuncts(node.predicate) if context.ids(term) == {source_id}], node, context)


def common_range_shares(columns: Sequence[tuple[Expr, LogicalPlan]], context: Context) -> list[float]:
    """Return the share of each column's range that is in the range common to all columns. A join makes them equal.

    Filters are assumed to select among joinable values: of a calendar, only the days that also occur in a fact table.
    """
    bounds = [_bounds(column, plan, context) for column, plan in columns]
    known = [found for found in bounds if found is not None]
    low, high = max((one for one, _ in known), default=0.0), min((other for _, other in known), default=0.0)
    width = max(high - low + 1.0, 0.0)
    return [1.0 if found is None else min(1.0, width / (found[1] - found[0] + 1.0)) for found in bounds]


def _bounds(expr: Expr, plan: LogicalPlan, context: Context) -> tuple[float, float] | None:
    if not isinstance(expr, ColumnRef):
        return None
    figures = column_estimate(expr.column_id, plan, context)
    low, high = _number(figures.min), _number(figures.max)
    return None if low is None or high is None else (low, high)


def known_distinct(expr: Expr, plan: LogicalPlan, context: Context) -> float | None:
    """Return an upper bound of the distinct values of `expr` among the rows of `plan`, or None without statistics."""
    if isinstance(expr, Literal):
        return 1.0
    ref = _single_column(expr)
    ndv = None if ref is None else column_estimate(ref.column_id, plan, context).ndv
    return None if ndv is None else max(1.0, min(ndv, estimate_rows(plan, context)))


def _single_column(expr: Expr) -> ColumnRef | None:
    while isinstance(expr, (Cast, Alias)):
        expr = expr.expr
    if isinstance(expr, Call) and len(expr.args) == 1:
        return _single_column(expr.args[0])
    return expr if isinstance(expr, ColumnRef) else None


def selectivity(terms: Sequence[Expr], plan: LogicalPlan, context: Context) -> float:
    """Estimate the share of the rows of `plan` that match all `terms`. Bounds of one column count as one range. Of
    several lists of its values, the shortest one counts.
    """
    result = 1.0
    lists: dict[int, float] = {}
    bounds: dict[int, list[tuple[str, PythonValue]]] = {}
    for term in terms:
        match term:
            case Call("lt" | "le" | "gt" | "ge" as function, (ColumnRef(column_id), Literal(value))):
                bounds.setdefault(column_id, []).append((function, value))
            case Call("eq" | "in", (ColumnRef(column_id), Literal(), *_)):
                lists[column_id] = min(lists.get(column_id, 1.0), term_selectivity(term, plan, context))
            case _:
                result *= term_selectivity(term, plan, context)
    result *= math.prod(lists.values())
    for column_id, limits in bounds.items():
        result *= _range_selectivity(column_id, limits, plan, context)
    return result


def term_selectivity(term: Expr, plan: LogicalPlan, context: Context) -> float:
    match term:
        case Literal(value):
            return 1.0 if value is True else 0.0
        case Call("and", _):
            return selectivity(conjuncts(term), plan, context)
        case Call("or", args):
            missed = 1.0
            for arg in args:
                missed *= 1.0 - term_selectivity(arg, plan, context)
            return 1.0 - missed
        case Call("not", (inner,)):
            return 1.0 - term_selectivity(inner, plan, context)
        case Call("eq" | "eq_null_safe", (one, other)):
            return _equal_selectivity(one, other, plan, context)
        case Call("ne", (one, other)):
            return 1.0 - _equal_selectivity(one, other, plan, context)
        case Call("in", (value, *items)):
            return min(1.0, len(items) * _equal_selectivity(value, items[0], plan, context))
        case Call("like", (ColumnRef(column_id), Literal(str() as pattern))):
            return _like_selectivity(column_id, pattern, plan, context)
        case Call("like" | "rlike", _):
            return LIKE_SELECTIVITY
        case Call("is_null", (value,)):
            return _null_fraction(value, plan, context)
        case Call("is_not_null", (value,)):
            return 1.0 - _null_fraction(value, plan, context)
        case Call("lt" | "le" | "gt" | "ge", (ColumnRef(column_id), _)) if _is_aggregate(column_id, plan, context):
            return HAVING_SELECTIVITY
    return selectivity_of_range(term, plan, context)


def selectivity_of_range(term: Expr, plan: LogicalPlan, context: Context) -> float:
    match term:
        case Call("lt" | "le" | "gt" | "ge" as function, (ColumnRef(column_id), Literal(value))):
            return _range_selectivity(column_id, [(function, value)], plan, context)
        case InSet(value, constants):
            one = Literal(constants.values[0].as_py(), constants.dtype)
            return min(1.0, len(constants) * _equal_selectivity(value, one, plan, context))
    return DEFAULT_SELECTIVITY


def _is_aggregate(column_id: int, plan: LogicalPlan, context: Context) -> bool:
    return isinstance(resolve(column_id, plan, context)[0], Aggregate)


def _equal_selectivity(one: Expr, other: Expr, plan: LogicalPlan, context: Context) -> float:
    if isinstance(one, Literal):
        one, other = other, one
    ref = _single_column(one)
    if ref is None:
        return EQUAL_SELECTIVITY
    figures = column_estimate(ref.column_id, plan, context)
    if figures.ndv is None:
        return EQUAL_SELECTIVITY
    result = 1.0 / max(figures.ndv, 1.0)
    if not isinstance(other, Literal) and (right := _single_column(other)):
        result = min(result, 1.0 / max(column_estimate(right.column_id, plan, context).ndv or 1.0, 1.0))
    return result * (1.0 - figures.null_fraction)


def _like_selectivity(column_id: int, pattern: str, plan: LogicalPlan, context: Context) -> float:
    """Estimate the share of strings with the pattern's prefix before its first wildcard, reduced for the rest of the
    pattern.
    """
    figures = column_estimate(column_id, plan, context)
    prefix = pattern.split("%", 1)[0].split("_", 1)[0]
    if not prefix or "\\" in pattern or figures.prefix_share is None:
        return LIKE_SELECTIVITY
    share = figures.prefix_share(prefix)
    if share is None:
        return LIKE_SELECTIVITY
    least = 1.0 / max(figures.ndv or 1000.0, 1.0)
    share = max(share, least if share else 0.0) * (1.0 - figures.null_fraction)
    return share if pattern == prefix + "%" else share * LIKE_SELECTIVITY


def _null_fraction(value: Expr, plan: LogicalPlan, context: Context) -> float:
    ref = _single_column(value)
    return EQUAL_SELECTIVITY if ref is None else column_estimate(ref.column_id, plan, context).null_fraction


def _range_selectivity(
    column_id: int, limits: Sequence[tuple[str, PythonValue]], plan: LogicalPlan, context: Context
) -> float:
    if _is_aggregate(column_id, plan, context):
        return HAVING_SELECTIVITY
    figures = column_estimate(column_id, plan, context)
    floor = 1.0 / max(figures.ndv or 1000.0, 1.0)
    if figures.range_share is not None and (known := figures.range_share(limits)) is not None:
        return max(known, floor if known else 0.0) * (1.0 - figures.null_fraction)
    low, high = _number(figures.min), _number(figures.max)
    if low is None or high is None:
        return DEFAULT_SELECTIVITY ** min(len(limits), 2)
    start, end = low, high
    for function, value in limits:
        number = _number(value)
        if number is None:
            return DEFAULT_SELECTIVITY ** min(len(limits), 2)
        if function in ("gt", "ge"):
            start = max(start, number)
        else:
            end = min(end, number)
    if start > end:
        return 0.0
    width = high - low
    share = (end - start) / width if width > 0 else 1.0
    return max(share, floor) * (1.0 - figures.null_fraction)


def _number(value: PythonValue) -> float | None:
    match value:
        case bool():
            return float(value)
        case int() | float() | Decimal():
            return float(value)
        case datetime.datetime():
            return value.toordinal() + (value.hour * 3600 + value.minute * 60 + value.second) / 86_400
        case datetime.date():
            return float(value.toordinal())
    return None

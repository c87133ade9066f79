"""Make a subquery independent by a join with the distinct outer values that it depends on.

The general method (Neumann and Kemper, "Unnesting Arbitrary Queries", BTW 2015): the domain holds the distinct values
of the used outer columns. It is pushed down to their uses, and every operator on the way keeps the domain's columns.
This costs more than pulling up conditions, but is always possible.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sharkpy.base.errors import UnsupportedError
from sharkpy.optimizer.context import Context, fresh_copy
from sharkpy.optimizer.subqueries.pull_up import empty_value
from sharkpy.plan.expr import (
    AggregateCall,
    Alias,
    Call,
    ColumnRef,
    Expr,
    Literal,
    WindowCall,
    conjunction,
    conjuncts,
)
from sharkpy.plan.logical import (
    Aggregate,
    Distribute,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    LogicalPlan,
    Project,
    Sort,
    Union,
    Values,
    Window,
)
from sharkpy.plan.references import free_column_ids, substitute
from sharkpy.values.types import BIGINT, BOOLEAN, INT

Refs = dict[int, ColumnRef]
"""Outer column id -> the domain's column that represents it in a plan."""


def null_safe_equal(left: Expr, right: Expr) -> Expr:
    return Call("eq_null_safe", (left, right), BOOLEAN)


def null_safe_equalities(left: Refs, right: Refs) -> list[Expr]:
    return [null_safe_equal(ref, right[column_id]) for column_id, ref in left.items()]


class Domain:
    """The distinct values of `columns` of `outer`, copied for each use."""

    def __init__(self, outer: LogicalPlan, columns: Sequence[ColumnRef], context: Context) -> None:
        self.outer = outer
        self.columns = tuple(columns)
        self.ids = frozenset(column.column_id for column in columns)
        self.context = context

    def copy(self) -> tuple[LogicalPlan, Refs]:
        plan, mapping = fresh_copy(self.outer, self.context)
        aliases = [
            Alias(ColumnRef(mapping[c.column_id], c.name, c.dtype), self.context.fresh_id(), c.name)
            for c in self.columns
        ]
        refs = {column.column_id: alias.ref for column, alias in zip(self.columns, aliases, strict=True)}
        return Aggregate(plan, tuple(aliases), ()), refs

    def depends(self, plan: LogicalPlan) -> bool:
        return bool(free_column_ids(plan) & self.ids)

    def push(self, plan: LogicalPlan) -> tuple[LogicalPlan, Refs]:
        """Return `plan` for every value of the domain, with the domain's columns added to its output."""
        if not self.depends(plan):
            domain, refs = self.copy()
            return (domain if is_one_empty_row(plan) else Join(domain, plan, JoinKind.CROSS)), refs
        match plan:
            case Filter(child, predicate):
                child, refs = self.push(child)
                return Filter(child, _replaced(predicate, refs)), refs
            case Project(child, items):
                child, refs = self.push(child)
                return Project(child, self._items(items, refs) + tuple(refs.values())), refs
            case Aggregate():
                return self._push_aggregate(plan)
            case Join():
                return self._push_join(plan)
            case Union():
                return self._push_union(plan)
            case Window(child, windows):
                child, refs = self.push(child)
                return Window(child, tuple(_partitioned(item, refs) for item in windows)), refs
            case Sort(child) | Distribute(child):
                return self.push(child)
            case Limit():
                return self._push_limit(plan)
            case Generate(child, generator, columns, outer):
                child, refs = self.push(child)
                return Generate(child, _replaced(generator, refs), columns, outer), refs  # type: ignore[arg-type]
            case Expand(child, columns, projections):
                child, refs = self.push(child)
                copies = tuple(Alias(ref, self.context.fresh_id(), ref.name) for ref in refs.values())
                rows = tuple(
                    (*(_replaced(expr, refs) for expr in row), *(copy.expr for copy in copies)) for row in projections
                )
                new = {old: copy.ref for old, copy in zip(refs, copies, strict=True)}
                return Expand(child, columns + tuple(new.values()), rows), new
        raise UnsupportedError(f"correlated subquery through {plan.label}")

    def _items(self, items: Sequence[Alias | ColumnRef], refs: Refs) -> tuple[Alias | ColumnRef, ...]:
        """Return `items` over the domain. Outer columns that pass through unchanged are already in the domain."""
        kept = [item for item in items if not (isinstance(item, ColumnRef) and item.column_id in refs)]
        return tuple(_replaced(item, refs) for item in kept)  # type: ignore[misc]

    def _push_aggregate(self, plan: Aggregate) -> tuple[LogicalPlan, Refs]:
        child, refs = self.push(plan.child)
        groups = self._items(plan.groups, refs) + tuple(refs.values())
        aggregates = tuple(_replaced(item, refs) for item in plan.aggregates)
        if plan.groups:
            return Aggregate(child, groups, aggregates), refs  # type: ignore[arg-type]
        return self._with_empty_groups(child, groups, aggregates, refs)  # type: ignore[arg-type]

    def _with_empty_groups(
        self, child: LogicalPlan, groups: tuple[Alias | ColumnRef, ...], aggregates: tuple[Alias, ...], refs: Refs
    ) -> tuple[LogicalPlan, Refs]:
        """Give an aggregate without groups a row for every value of the domain."""
        renamed = tuple(Alias(item.expr, self.context.fresh_id(), item.name) for item in aggregates)
        flag = Alias(Literal(True, BOOLEAN), self.context.fresh_id(), "matched")
        grouped = Aggregate(child, groups, renamed)
        flagged = Project(grouped, (*grouped.output, flag))
        domain, outer_refs = self.copy()
        joined = Join(domain, flagged, JoinKind.LEFT, conjunction(null_safe_equalities(outer_refs, refs)))
        items: list[Alias | ColumnRef] = list(outer_refs.values())
        for item, new in zip(aggregates, renamed, strict=True):
            value: Expr = new.ref
            if empty_value(item).value is not None:
                missing = Call("is_null", (flag.ref,), BOOLEAN)
                value = Call("case_when", (missing, empty_value(item), new.ref), item.dtype)
            items.append(Alias(value, item.column_id, item.name))
        return Project(joined, tuple(items)), outer_refs

    def _push_join(self, plan: Join) -> tuple[LogicalPlan, Refs]:
        if plan.kind is JoinKind.FULL:
            raise UnsupportedError("correlated subquery inside a full join")
        left_depends, right_depends = self.depends(plan.left), self.depends(plan.right)
        left, right, terms = plan.left, plan.right, list(conjuncts(plan.condition))
        kind = plan.kind
        if kind is JoinKind.NULL_AWARE_ANTI:
            kind, terms = JoinKind.ANTI, [not_false(conjunction(terms) or Literal(True, BOOLEAN))]
        symmetric = kind in (JoinKind.INNER, JoinKind.CROSS)
        refs: Refs = {}
        right_refs: Refs = {}
        keeps_right = kind is JoinKind.RIGHT or (symmetric and right_depends and not left_depends)
        if not keeps_right or left_depends:
            left, refs = self.push(left)
        if keeps_right or right_depends:
            right, right_refs = self.push(right)
        if refs and right_refs:
            terms = [*null_safe_equalities(refs, right_refs), *terms]
        kept = right_refs if keeps_right else refs
        condition = conjunction(_replaced(term, kept) for term in terms)
        if symmetric:
            kind = JoinKind.CROSS if condition is None else JoinKind.INNER
        return Join(left, right, kind, condition, plan.hint), kept

    def _push_union(self, plan: Union) -> tuple[LogicalPlan, Refs]:
        inputs: list[LogicalPlan] = []
        for child in plan.inputs:
            pushed, refs = self.push(child)
            columns = tuple(refs.get(column.column_id, column) for column in child.output)
            inputs.append(_positional(pushed, columns + tuple(refs.values()), self.context))
        new = {c.column_id: ColumnRef(self.context.fresh_id(), c.name, c.dtype) for c in self.columns}
        return Union(tuple(inputs), plan.columns + tuple(new.values())), new

    def _push_limit(self, plan: Limit) -> tuple[LogicalPlan, Refs]:
        if isinstance(plan.child, Project):
            # The sort keys may be known only below the projection.
            return self.push(Project(Limit(plan.child.child, plan.count, plan.offset), plan.child.items))
        keys = plan.child.keys if isinstance(plan.child, Sort) else ()
        child, refs = self.push(plan.child)
        number = Alias(
            WindowCall("row_number", (), tuple(refs.values()), tuple(_replaced(k, refs) for k in keys), None, INT),  # type: ignore[misc]
            self.context.fresh_id(),
            "row_number",
        )
        terms: list[Expr] = []
        if plan.offset:
            terms.append(Call("gt", (number.ref, Literal(plan.offset, INT)), BOOLEAN))
        if plan.count is not None:
            terms.append(Call("le", (number.ref, Literal(plan.offset + plan.count, INT)), BOOLEAN))
        predicate = conjunction(terms)
        if predicate is None:
            return child, refs
        return Project(Filter(Window(child, (number,)), predicate), child.output), refs


def is_one_empty_row(plan: LogicalPlan) -> bool:
    """Return whether the plan is one row without columns, as read by a query without FROM. A join with it changes no
    rows.
    """
    while isinstance(plan, Project) and not plan.items:
        plan = plan.child
    return isinstance(plan, Values) and plan.rows == ((),)


def not_false(predicate: Expr) -> Expr:
    """TRUE if `predicate` is TRUE or NULL."""
    return Call("or", (predicate, Call("is_null", (predicate,), BOOLEAN)), BOOLEAN)


def count_rows(context: Context, name: str = "num_rows") -> Alias:
    return Alias(AggregateCall("count", (), BIGINT), context.fresh_id(), name)


def _replaced(expr: Expr, refs: Refs) -> Expr:
    return substitute(expr, refs)  # type: ignore[arg-type]


def _partitioned(item: Alias, refs: Refs) -> Alias:
    call = _replaced(item.expr, refs)
    partition_by = call.partition_by + tuple(refs.values())  # type: ignore[attr-defined]
    return Alias(dataclasses.replace(call, partition_by=partition_by), item.column_id, item.name)  # type: ignore[type-var]


def _positional(plan: LogicalPlan, columns: tuple[ColumnRef, ...], context: Context) -> LogicalPlan:
    """Return `plan` with exactly `columns`. A column that appears twice is copied."""
    items: list[Alias | ColumnRef] = []
    seen: set[int] = set()
    for column in columns:
        if column.column_id in seen:
            items.append(Alias(column, context.fresh_id(), column.name))
        else:
            items.append(column)
        seen.add(column.column_id)
    return Project(plan, tuple(items))

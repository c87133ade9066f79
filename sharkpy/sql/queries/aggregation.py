"""Grouped queries, split into an Aggregate and the expressions above it over its columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace

from sharkpy.base.errors import InternalError
from sharkpy.base.records import dataclass
from sharkpy.plan.expr import TRUE, AggregateCall, Alias, Call, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate, Expand, LogicalPlan, Union, Values
from sharkpy.plan.references import column_ids, substitute
from sharkpy.plan.subqueries import SUBQUERIES
from sharkpy.sql.expressions.bind_function import GROUPING
from sharkpy.sql.expressions.bind_name import GROUPING_ID, MOST_BITS
from sharkpy.udf.user.function import shown_name
from sharkpy.values.types import BIGINT, BOOLEAN, DataType

Fail = Callable[[str], Exception]


@dataclass(slots=True)
class Aggregation:
    """Builder of the Aggregate of one SELECT. It collects the aggregate calls of expressions.

    1. `rewrite` each expression of SELECT, HAVING and ORDER BY. It then refers only to the Aggregate's columns.
    2. Call `plan` when all expressions are rewritten.
    """

    child: LogicalPlan
    groups: Sequence[tuple[str, Expr]]
    sets: Sequence[frozenset[int]] | None
    new_column: Callable[[str, DataType], ColumnRef]
    fail: Fail
    legacy_id: bool = False
    """True for GROUPING__ID as in versions before Hive 2.3."""
    _aggregates: dict[Expr, Alias] = field(default_factory=dict)
    _group_items: list[Alias | ColumnRef] = field(default_factory=list)
    _replacements: dict[Expr, Expr] = field(default_factory=dict)
    _grouping_id: ColumnRef | None = None
    _grouped_ids: frozenset[int] = frozenset()
    _own_names: dict[int, str] = field(default_factory=dict)
    """Names of the child's columns, by id."""

    def __post_init__(self) -> None:
        own = self.child.output_ids
        for name, expr in self.groups:
            # A column of an outer query gets a new id here. Otherwise it would count as an output of this plan.
            if self.sets is None and isinstance(expr, ColumnRef) and expr.column_id in own:
                self._group_items.append(expr)
                continue
            column = self.new_column(name, expr.dtype)
            self._group_items.append(Alias(expr, column.column_id, name) if self.sets is None else column)
            self._replacements[expr] = column
        if self.sets is not None:
            self._grouping_id = self.new_column(GROUPING_ID, BIGINT)
        self._grouped_ids = frozenset(column.column_id for column in self._group_columns)
        self._own_names = {column.column_id: column.name for column in self.child.output}

    @property
    def _group_columns(self) -> list[ColumnRef]:
        return [item.ref if isinstance(item, Alias) else item for item in self._group_items]

    def rewrite(self, expr: Expr) -> Expr:
        """Rewrite `expr` over the columns of the Aggregate. Raise an error if it uses a column that is not grouped."""
        rewritten = self._rewrite(expr)
        for column_id in sorted(column_ids(rewritten)):
            if column_id in self._own_names and column_id not in self._grouped_ids:
                raise self.fail(self._own_names[column_id])
        return rewritten

    def _rewrite(self, expr: Expr) -> Expr:
        if self._replacements and (replacement := self._replacements.get(expr)) is not None:
            return replacement
        match expr:
            case AggregateCall(function) if function in (GROUPING, GROUPING_ID):
                return self._grouping(expr)
            case AggregateCall():
                return self._aggregate(expr)
        if isinstance(expr, SUBQUERIES):
            expr = self._rewrite_within(expr)
            columns = {e.column_id: column for e, column in self._replacements.items() if isinstance(e, ColumnRef)}
            expr = substitute(expr, columns)
        return expr.map_children(self._rewrite)

    def _rewrite_within(self, expr: Expr) -> Expr:
        """Rewrite aggregates over the child's rows in the subqueries of an expression."""
        own = self.child.output_ids

        def visit(part: Expr) -> Expr:
            if isinstance(part, AggregateCall) and (used := column_ids(part)) and used <= own:
                return self._aggregate(part)
            if not isinstance(part, SUBQUERIES):
                return part
            plan = part.plan.transform_up(
                lambda node: (
                    node
                    if isinstance(node, Aggregate)
                    else node.map_expressions(lambda inner: inner.transform_up(visit))
                )
            )
            return part if plan is part.plan else replace(part, plan=plan)

        return visit(expr)

    def _aggregate(self, call: AggregateCall) -> ColumnRef:
        alias = self._aggregates.get(call)
        if alias is None:
            column = self.new_column(shown_name(call.function), call.dtype)
            alias = self._aggregates[call] = column.holding(call)
        return alias.ref

    def _grouping(self, call: AggregateCall) -> Expr:
        """Expression for grouping__id or grouping(a, b, …).

        It has one bit for each argument; the first argument has the highest bit.
        """
        if self._grouping_id is None or self.sets is None:
            # Without grouping sets, all columns are grouped.
            return Literal(0, call.dtype)
        if call.function == GROUPING_ID:
            return self._grouping_id
        exprs = [expr for _, expr in self.groups]
        for arg in call.args:
            if arg not in exprs:
                raise self.fail(str(arg))
        places = [exprs.index(arg) for arg in call.args]
        by_bits: dict[int, list[Literal]] = {}
        for chosen in self.sets:
            bits = _away_bits(places, chosen)
            by_bits.setdefault(bits, []).append(Literal(self._id_of(chosen), BIGINT))
        (last, _), *others = by_bits.items()
        branches: list[Expr] = []
        for bits, ids in others:
            branches += [Call("in", (self._grouping_id, *ids), BOOLEAN), Literal(bits, call.dtype)]
        if not branches:
            return Literal(last, call.dtype)
        return Call("case_when", (*branches, Literal(last, call.dtype)), call.dtype)

    def _id_of(self, chosen: frozenset[int]) -> int:
        """GROUPING__ID of a grouping set.

        It has one bit for each grouping expression, set if the set does not contain it. The first expression has the
        highest bit. Before Hive 2.3, a bit is set if the set contains the expression, and the first expression has the
        lowest bit. With more than MOST_BITS expressions, the id is the number of the set, which no query can see.
        """
        if len(self.groups) > MOST_BITS and self.sets is not None:
            return self.sets.index(chosen)
        if self.legacy_id:
            return sum(1 << index for index in chosen)
        return _away_bits(range(len(self.groups)), chosen)

    def plan(self) -> Aggregate:
        aggregates = tuple(self._aggregates.values())
        if self.sets is None or self._grouping_id is None:
            return Aggregate(self.child, tuple(self._group_items), aggregates)
        columns = (*self.child.output, *self._group_columns, self._grouping_id)
        expand = Expand(self.child, columns, self._projections(self.sets))
        groups = (*self._group_columns, self._grouping_id)
        if frozenset() not in self.sets:
            return Aggregate(expand, groups, aggregates)
        return _with_summary_row(expand, groups, aggregates, Literal(self._id_of(frozenset()), BIGINT), self.new_column)

    def _projections(self, sets: Sequence[frozenset[int]]) -> tuple[tuple[Expr, ...], ...]:
        return tuple(
            (
                *self.child.output,
                *(
                    expr if index in chosen else Literal(None, expr.dtype)
                    for index, (_, expr) in enumerate(self.groups)
                ),
                Literal(self._id_of(chosen), BIGINT),
            )
            for chosen in sets
        )


def _away_bits(places: Sequence[int], chosen: frozenset[int]) -> int:
    """One bit for each place, set if `chosen` does not contain it. The first place has the highest bit."""
    bits = 0
    for place in places:
        bits = bits << 1 | (place not in chosen)
    return bits


def _with_summary_row(
    expand: Expand,
    groups: tuple[ColumnRef, ...],
    aggregates: tuple[Alias, ...],
    empty_set: Literal,
    new_column: Callable[[str, DataType], ColumnRef],
) -> Aggregate:
    """Add an input row that no aggregate counts, for the empty grouping set.

    That set has a result row even if the input is empty.
    """
    is_row = new_column("is_row", BOOLEAN)
    marked = Expand(
        expand.child, (*expand.columns, is_row), tuple((*projection, TRUE) for projection in expand.projections)
    )
    nulls = tuple(Literal(None, column.dtype) for column in expand.columns[:-1])
    summary_columns = tuple(new_column(column.name, column.dtype) for column in marked.columns)
    summary = Values(summary_columns, ((*nulls, empty_set, Literal(None, BOOLEAN)),))
    columns = tuple(new_column(column.name, column.dtype) for column in marked.columns)
    renamed: dict[int, Expr] = {old.column_id: new for old, new in zip(marked.columns, columns, strict=True)}
    counted = tuple(_counted(item, renamed, columns[-1]) for item in aggregates)
    keys = tuple(Alias(renamed[group.column_id], group.column_id, group.name) for group in groups)
    return Aggregate(Union((marked, summary), columns), keys, counted)


def _counted(item: Alias, renamed: dict[int, Expr], is_row: ColumnRef) -> Alias:
    """Restrict an aggregate to the input rows, without the added row."""
    call = substitute(item.expr, renamed)
    if not isinstance(call, AggregateCall):
        raise InternalError(f"{item} is not an aggregate")
    own = is_row if call.filter is None else Call("and", (is_row, call.filter), BOOLEAN)
    return Alias(replace(call, filter=own), item.column_id, item.name)

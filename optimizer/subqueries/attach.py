"""Join subqueries to the plan for whose rows they are evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.optimizer.context import Context, fresh_copy, references
from sharkpy.optimizer.evaluate import evaluate_quickly
from sharkpy.optimizer.subqueries.domain import Domain, count_rows, not_false, null_safe_equal
from sharkpy.optimizer.subqueries.pull_up import Pulled, pull_up, split_equality
from sharkpy.plan.expr import AggregateCall, Alias, Call, ColumnRef, Expr, Literal, conjunction
from sharkpy.plan.logical import Aggregate, Filter, Join, JoinKind, Limit, LogicalPlan, Project, Sort
from sharkpy.plan.references import free_column_ids, substitute
from sharkpy.plan.subqueries import Exists, InSubquery, ScalarSubquery
from sharkpy.values.types import BIGINT, BOOLEAN

Unnest = Callable[[LogicalPlan, Context], LogicalPlan]


@dataclass(frozen=True, slots=True)
class Keyed:
    """Rows of a subquery with their outer rows: a row belongs to the outer rows for which all `keys` hold.

    A key is (comparison, outer expression, inner expression). `values` are the subquery's columns.
    """

    plan: LogicalPlan
    keys: tuple[tuple[str, Expr, Expr], ...]
    values: tuple[Expr, ...]


class Attachment:
    """A plan that grows by the joins for the subqueries of one node.

    Methods leave the rows of the plan unchanged, except `semi`, which filters them.
    """

    def __init__(self, plan: LogicalPlan, unnest: Unnest, context: Context) -> None:
        self.plan = plan
        self.unnest = unnest
        self.context = context
        self._answers: dict[int, tuple[LogicalPlan, Expr]] = {}
        """Subqueries that are already joined, by identity: BETWEEN and CASE repeat theirs."""

    def replace(self, expr: Expr, null_is_false: bool = False) -> Expr:
        """Replace each subquery in `expr` by an expression over the plan, which is joined as needed.

        `null_is_false`: the caller treats NULL as FALSE, so IN need not distinguish them.
        """
        match expr:
            case ScalarSubquery(plan):
                return self._once(plan, self._scalar)
            case Exists(plan):
                return self._once(plan, self._exists)
            case InSubquery(values, plan):
                return self._in(tuple(self.replace(value) for value in values), plan, null_is_false)
            case Call("and" | "or"):
                return expr.map_children(lambda arg: self.replace(arg, null_is_false))
        return expr.map_children(self.replace)

    def _once(self, plan: LogicalPlan, answer: Callable[[LogicalPlan], Expr]) -> Expr:
        known = self._answers.get(id(plan))
        if known is None:
            known = self._answers[id(plan)] = plan, answer(plan)
        return known[1]

    def semi(self, plan: LogicalPlan, values: Sequence[Expr], kind: JoinKind) -> None:
        """Keep the rows for which `plan` has (SEMI) or does not have (ANTI) a row equal to `values`.

        ANTI with values is NOT IN: a row is kept only if the comparison with every row is FALSE.
        """
        values = [self.replace(value) for value in values]
        plan = _without_order(self.unnest(plan, self.context))
        free, pulled = self._correlation(plan)
        terms = [Call("eq", pair, BOOLEAN) for pair in zip(values, plan.output, strict=True)] if values else []
        equal = conjunction(terms)
        if not free:
            self._plain_semi(plan, equal, len(terms), kind)
            return
        if pulled is None or pulled.empty is not None:
            domain = self._domain(free)
            plan, refs = domain.push(plan)
            conditions = tuple(null_safe_equal(column, refs[column.column_id]) for column in domain.columns)
        else:
            plan, conditions = pulled.plan, pulled.conditions
            equal = equal and substitute(equal, pulled.deferred)
        if equal is not None:
            conditions += (not_false(equal) if kind is JoinKind.ANTI else equal,)
        self.plan = Join(self.plan, plan, kind, conjunction(conditions))

    def _plain_semi(self, plan: LogicalPlan, equal: Expr | None, num_values: int, kind: JoinKind) -> None:
        if equal is None:
            exists = self._plain_exists(plan)
            self.plan = Filter(self.plan, exists if kind is JoinKind.SEMI else Call("not", (exists,), BOOLEAN))
        elif kind is JoinKind.SEMI:
            self.plan = Join(self.plan, plan, kind, equal)
        elif num_values == 1:
            self.plan = Join(self.plan, plan, JoinKind.NULL_AWARE_ANTI, equal)
        else:
            self.plan = Join(self.plan, plan, kind, not_false(equal))

    def _correlation(self, plan: LogicalPlan) -> tuple[frozenset[int], Pulled | None]:
        """Return the outer columns of a subquery, and the result of pulling up its conditions.

        Without both, the subquery is the same for all rows of this plan. Columns from further out that cannot be pulled
        up then stay in it, and the subquery around this plan resolves them.
        """
        free = free_column_ids(plan)
        pulled = pull_up(plan, free, self.context) if free else None
        if pulled is None and not self._depends(free):
            return frozenset(), None
        return free, pulled

    def _depends(self, free: frozenset[int]) -> bool:
        """Return whether some of the columns `free` are from this plan."""
        return bool(free & self.context.output_ids(self.plan))

    def _domain(self, free: frozenset[int]) -> Domain:
        columns = [column for column in self.plan.output if column.column_id in free]
        if not columns:
            raise UnsupportedError("subquery that is correlated only with columns more than one level up")
        return Domain(self.plan, columns, self.context)

    def _flagged(self, plan: LogicalPlan) -> tuple[LogicalPlan, ColumnRef]:
        flag = Alias(Literal(True, BOOLEAN), self.context.fresh_id(), "matched")
        return Project(plan, (*plan.output, flag)), flag.ref

    def _scalar(self, plan: LogicalPlan) -> Expr:
        plan = self.unnest(plan, self.context)
        column = plan.output[0]
        free, pulled = self._correlation(plan)
        if not free:
            kind = JoinKind.CROSS if _is_single_row(plan) else JoinKind.SINGLE
            self.plan = Join(self.plan, plan, kind)
            return column
        if pulled is None:
            domain = self._domain(free)
            plan, refs = domain.push(plan)
            equal = conjunction(null_safe_equal(outer, refs[outer.column_id]) for outer in domain.columns)
            self.plan = Join(self.plan, plan, JoinKind.SINGLE, equal)
            return refs.get(column.column_id, column)
        if pulled.empty is not None and pulled.conditions:
            return self._grouped_scalar(pulled, column, pulled.empty)
        return self._single_scalar(pulled, column, free)

    def _grouped_scalar(self, pulled: Pulled, column: ColumnRef, empty: dict[int, Expr]) -> Expr:
        """Attach an aggregate without groups, now grouped by its correlation: a missing group means a row of empty
        values.
        """
        self.plan = Join(self.plan, pulled.plan, JoinKind.LEFT, conjunction(pulled.conditions))
        missing_value = empty[column.column_id].transform_up(_folded)
        if isinstance(missing_value, Literal) and missing_value.value is None:
            return column
        key = pulled.conditions[0].args[1]  # type: ignore[attr-defined]
        missing = Call("is_null", (key,), BOOLEAN)
        return Call("case_when", (missing, missing_value, column), column.dtype)

    def _single_scalar(self, pulled: Pulled, column: ColumnRef, free: frozenset[int]) -> Expr:
        plan, value = pulled.plan, pulled.deferred.get(column.column_id, column)
        flag = None
        if value is not column or column.column_id in free:
            plan, flag = self._flagged(plan)
        kind = JoinKind.SINGLE
        if plan is pulled.plan and self._is_unique_for(plan, pulled.conditions, free):
            kind = JoinKind.LEFT
        self.plan = Join(self.plan, plan, kind, conjunction(pulled.conditions))
        if flag is None:
            return value
        return Call("case_when", (flag, value, Literal(None, value.dtype)), value.dtype)

    def _is_unique_for(self, plan: LogicalPlan, conditions: Sequence[Expr], free: frozenset[int]) -> bool:
        """Return whether at most one row of `plan` matches the equalities in `conditions`, for given outer values."""
        while isinstance(plan, (Project, Filter)):
            plan = plan.child
        if not isinstance(plan, Aggregate):
            return False
        fixed = set()
        for condition in conditions:
            sides = split_equality(condition, free, self.context)
            if sides and isinstance(sides[1], ColumnRef):
                fixed.add(sides[1].column_id)
        return {item.column_id for item in plan.groups} <= fixed

    def _exists(self, plan: LogicalPlan) -> Expr:
        plan = _without_order(self.unnest(plan, self.context))
        free, pulled = self._correlation(plan)
        if not self._depends(free):
            return self._plain_exists(plan)
        keyed = self._keyed(plan, free, pulled)
        return self._matched(keyed.plan, keyed.keys)

    def _plain_exists(self, plan: LogicalPlan) -> Expr:
        number = count_rows(self.context)
        one = plan if isinstance(plan, Limit) else Limit(plan, 1)
        self.plan = Join(self.plan, Aggregate(one, (), (number,)), JoinKind.CROSS)
        return Call("gt", (number.ref, Literal(0, BIGINT)), BOOLEAN)

    def _keyed(self, plan: LogicalPlan, free: frozenset[int], pulled: Pulled | None) -> Keyed:
        """Return the correlated subquery with only equalities to outer values."""
        if pulled is not None and pulled.empty is None and not pulled.deferred:
            sides = [split_equality(condition, free, self.context) for condition in pulled.conditions]
            if all(side is not None and self.context.ids(side[1]) for side in sides):
                keys = tuple(("eq", side[0], side[1]) for side in sides if side)
                return Keyed(pulled.plan, keys, plan.output)
        domain = self._domain(free)
        pushed, refs = domain.push(plan)
        keys = tuple(("eq_null_safe", column, refs[column.column_id]) for column in domain.columns)
        values = tuple(refs.get(column.column_id, column) for column in plan.output)
        return Keyed(pushed, keys, values)

    def _in(self, values: tuple[Expr, ...], plan: LogicalPlan, null_is_false: bool) -> Expr:
        plan = _without_order(self.unnest(plan, self.context))
        free, pulled = self._correlation(plan)
        keyed = self._keyed(plan, free, pulled) if self._depends(free) else Keyed(plan, (), plan.output)
        equalities = tuple(("eq", value, inner) for value, inner in zip(values, keyed.values, strict=True))
        if null_is_false:
            return self._matched(keyed.plan, keyed.keys + equalities)
        if len(values) > 1:
            return self._tuple_in(values, plan, keyed, equalities)
        stats_plan, mapping = fresh_copy(keyed.plan, self.context)
        matched = self._matched(keyed.plan, keyed.keys + equalities)
        rename = {
            ref.column_id: ColumnRef(mapping[ref.column_id], ref.name, ref.dtype)
            for ref in references((*(key[2] for key in keyed.keys), *keyed.values)).values()
            if ref.column_id in mapping
        }
        keys = tuple((op, outer, substitute(inner, rename)) for op, outer, inner in keyed.keys)  # type: ignore[arg-type]
        has_rows, has_null = self._row_facts(stats_plan, keys, substitute(keyed.values[0], rename))  # type: ignore[arg-type]
        unknown = Call("or", (Call("is_null", (values[0],), BOOLEAN), has_null), BOOLEAN)
        args = (
            matched,
            Literal(True, BOOLEAN),
            Call("not", (has_rows,), BOOLEAN),
            Literal(False, BOOLEAN),
            unknown,
            Literal(None, BOOLEAN),
            Literal(False, BOOLEAN),
        )
        return Call("case_when", args, BOOLEAN)

    def _tuple_in(
        self, values: tuple[Expr, ...], plan: LogicalPlan, keyed: Keyed, equalities: tuple[tuple[str, Expr, Expr], ...]
    ) -> Expr:
        """IN over several columns: NULL if no row is equal but, because of NULLs, some row is not unequal."""
        copy, mapping = fresh_copy(plan, self.context)
        columns = [ColumnRef(mapping.get(c.column_id, c.column_id), c.name, c.dtype) for c in plan.output]
        matched = self._matched(keyed.plan, keyed.keys + equalities)
        equal = conjunction(Call("eq", pair, BOOLEAN) for pair in zip(values, columns, strict=True))
        unknown = self._exists(Filter(copy, not_false(equal or Literal(True, BOOLEAN))))
        args = (matched, Literal(True, BOOLEAN), unknown, Literal(None, BOOLEAN), Literal(False, BOOLEAN))
        return Call("case_when", args, BOOLEAN)

    def _matched(self, plan: LogicalPlan, keys: Sequence[tuple[str, Expr, Expr]]) -> Expr:
        """Return whether some row of `plan` matches `keys`, by a left join with its distinct keys and a flag."""
        groups = tuple(Alias(inner, self.context.fresh_id(), "key") for _, _, inner in keys)
        right, flag = self._flagged(Aggregate(plan, groups, ()))
        self._join_keys(right, keys, groups)
        return Call("is_not_null", (flag,), BOOLEAN)

    def _row_facts(self, plan: LogicalPlan, keys: Sequence[tuple[str, Expr, Expr]], value: Expr) -> tuple[Expr, Expr]:
        """Return whether `plan` has rows for the outer row, and whether `value` is NULL in one of them."""
        groups = tuple(Alias(inner, self.context.fresh_id(), "key") for _, _, inner in keys)
        rows = count_rows(self.context)
        values = Alias(AggregateCall("count", (value,), BIGINT), self.context.fresh_id(), "num_values")
        self._join_keys(Aggregate(plan, groups, (rows, values)), keys, groups)
        number = Call("coalesce", (rows.ref, Literal(0, BIGINT)), BIGINT)
        has_rows = Call("gt", (number, Literal(0, BIGINT)), BOOLEAN)
        return has_rows, Call("gt", (rows.ref, values.ref), BOOLEAN)

    def _join_keys(self, right: LogicalPlan, keys: Sequence[tuple[str, Expr, Expr]], groups: Sequence[Alias]) -> None:
        terms = [Call(op, (outer, group.ref), BOOLEAN) for (op, outer, _), group in zip(keys, groups, strict=True)]
        kind = JoinKind.LEFT if terms else JoinKind.CROSS
        self.plan = Join(self.plan, right, kind, conjunction(terms))


def _folded(expr: Expr) -> Expr:
    return evaluate_quickly(expr) or expr


def _without_order(plan: LogicalPlan) -> LogicalPlan:
    """Return `plan` without Sorts on top, for uses that depend only on its set of rows."""
    while isinstance(plan, Sort):
        plan = plan.child
    return plan


def _is_single_row(plan: LogicalPlan) -> bool:
    while isinstance(plan, (Project, Sort)):
        plan = plan.child
    return isinstance(plan, Aggregate) and not plan.groups

"""Random plans over t1, t2 and t3, subqueries of every kind included."""

from __future__ import annotations

import random

from sharkpy.plan.expr import AggregateCall, Alias, Cast, ColumnRef, Expr, Literal, SortKey, WindowCall
from sharkpy.plan.logical import Aggregate, Filter, Join, JoinKind, Limit, LogicalPlan, Project, Sort, Union, Window
from sharkpy.plan.subqueries import Exists, InSubquery, ScalarSubquery
from sharkpy.values.types import BIGINT, BOOLEAN, INT
from tests.optimizer.builder import call, lit, scan

_COMPARISONS = ("eq", "eq", "eq", "lt", "ge", "ne", "eq_null_safe")


class PlanMaker:
    """Makes one plan from one random source; column ids are unique in the plan."""

    def __init__(self, source: random.Random) -> None:
        self.random = source
        self.last_id = 0
        self.num_subqueries = 0

    def fresh(self) -> int:
        self.last_id += 1
        return self.last_id

    def table(self) -> LogicalPlan:
        first = self.last_id + 1
        self.last_id += 3
        return scan(self.random.choice(("t1", "t2", "t3")), first)

    def plan(self, depth: int, outer: tuple[ColumnRef, ...] = ()) -> LogicalPlan:
        choice = self.random.random()
        if depth == 0 or choice < 0.1:
            return self.table()
        if choice < 0.4:
            child = self.plan(depth - 1, outer)
            return Filter(child, self.predicate(depth, child.output, outer))
        if choice < 0.65:
            return self.join(depth, outer)
        if choice < 0.75:
            return self.aggregate(depth, outer)
        if choice < 0.85:
            child = self.plan(depth - 1, outer)
            items = [Alias(self.value(depth, child.output, outer), self.fresh(), "p") for _ in range(2)]
            kept = self.random.sample(child.output, min(2, len(child.output)))
            return Project(child, (*kept, *items))
        if choice < 0.9:
            return self.window(depth, outer)
        if choice < 0.95:
            return self.union(depth, outer)
        return Filter(self.plan(depth - 1, outer), Literal(self.random.choice((True, False, None)), BOOLEAN))

    def join(self, depth: int, outer: tuple[ColumnRef, ...]) -> LogicalPlan:
        left, right = self.plan(depth - 1, outer), self.plan(depth - 1, outer)
        kind = self.random.choice(
            (
                *[JoinKind.INNER] * 3,
                *[JoinKind.CROSS],
                JoinKind.LEFT,
                JoinKind.LEFT,
                JoinKind.RIGHT,
                JoinKind.FULL,
                JoinKind.SEMI,
                JoinKind.ANTI,
            )
        )
        if kind is JoinKind.CROSS:
            return Join(left, right, kind)
        terms: Expr = call("eq", self.column(left.output), self.column(right.output))
        if kind is not JoinKind.FULL and self.random.random() < 0.4:
            terms = call("and", terms, self.simple(left.output + right.output))
        return Join(left, right, kind, terms)

    def aggregate(self, depth: int, outer: tuple[ColumnRef, ...]) -> Aggregate:
        child = self.plan(depth - 1, outer)
        groups = tuple(dict.fromkeys(self.random.choices(child.output, k=self.random.randint(0, 2))))
        return Aggregate(child, groups, self.aggregates(child.output, 0 if groups else 1))

    def aggregates(self, columns: tuple[ColumnRef, ...], least: int) -> tuple[Alias, ...]:
        found = []
        for _ in range(self.random.randint(least, 2)):
            column = self.column(columns)
            function = self.random.choice(("count", "count", "min", "max"))
            dtype = BIGINT if function == "count" else column.dtype
            args = () if function == "count" and self.random.random() < 0.5 else (column,)
            distinct = bool(args) and self.random.random() < 0.3
            found.append(Alias(AggregateCall(function, args, dtype, distinct), self.fresh(), function))
        return tuple(found)

    def window(self, depth: int, outer: tuple[ColumnRef, ...]) -> LogicalPlan:
        child = self.plan(depth - 1, outer)
        window = WindowCall("count", (), (self.column(child.output),), (), None, BIGINT)
        item = Alias(window, self.fresh(), "w")
        plan = Window(child, (item,))
        return Filter(plan, self.simple(plan.output)) if self.random.random() < 0.5 else plan

    def union(self, depth: int, outer: tuple[ColumnRef, ...]) -> Union:
        inputs = []
        for _ in range(2):
            child = self.plan(depth - 1, outer)
            column = self.column(child.output)
            item = column if column.dtype == BIGINT else Cast(column if column.dtype == INT else lit(1), BIGINT)
            inputs.append(Project(child, (Alias(item, self.fresh(), "u"),)))
        return Union(tuple(inputs), (ColumnRef(self.fresh(), "u", BIGINT),))

    def column(self, columns: tuple[ColumnRef, ...]) -> ColumnRef:
        return self.random.choice([column for column in columns if column.dtype in (INT, BIGINT)] or [columns[0]])

    def value(self, depth: int, columns: tuple[ColumnRef, ...], outer: tuple[ColumnRef, ...]) -> Expr:
        choice = self.random.random()
        if choice < 0.2 and depth and self.num_subqueries < 3:
            return self.scalar(depth - 1, columns + outer)
        if choice < 0.5:
            return call("add", self.column(columns), lit(1))
        return self.column(columns)

    def scalar(self, depth: int, outer: tuple[ColumnRef, ...]) -> ScalarSubquery:
        self.num_subqueries += 1
        child = Filter(self.plan(depth, outer), lit(True))
        child = Filter(child, self.correlation(child.output, outer))
        plan: LogicalPlan = Aggregate(child, (), self.aggregates(child.output, 1)[:1])
        if self.random.random() < 0.5:
            item = call("add", plan.output[0], lit(1))
            if self.random.random() < 0.3:
                item = call("add", item, self.column(outer))
            plan = Project(plan, (Alias(item, self.fresh(), "v"),))
        if self.random.random() < 0.2:
            plan = Filter(plan, call("gt", plan.output[0], lit(0)))
        return ScalarSubquery(plan)

    def correlation(self, columns: tuple[ColumnRef, ...], outer: tuple[ColumnRef, ...]) -> Expr:
        if not outer or self.random.random() < 0.2:
            return self.simple(columns)
        function = self.random.choice(("eq", "eq", "eq", "lt", "ne"))
        term: Expr = call(function, self.column(columns), self.column(outer))
        return call("and", term, self.simple(columns)) if self.random.random() < 0.3 else term

    def simple(self, columns: tuple[ColumnRef, ...]) -> Expr:
        column = self.column(columns)
        match self.random.randint(0, 5):
            case 0:
                return call("is_null", column)
            case 1:
                return call("in", column, 1, 2)
            case 2:
                return call(self.random.choice(_COMPARISONS), column, self.column(columns))
            case 3:
                return call("between", column, 0, 2)
        return call(self.random.choice(_COMPARISONS), column, self.random.randint(0, 3))

    def predicate(self, depth: int, columns: tuple[ColumnRef, ...], outer: tuple[ColumnRef, ...]) -> Expr:
        choice = self.random.random()
        if choice < 0.25:
            function = self.random.choice(("and", "or"))
            return call(function, self.predicate(depth, columns, outer), self.predicate(depth, columns, outer))
        if choice < 0.35:
            return call("not", self.predicate(depth, columns, outer))
        if choice < 0.65 and depth and self.num_subqueries < 3:
            found = self.subquery(depth - 1, columns, outer)
            return call("not", found) if self.random.random() < 0.4 else found
        return self.simple(columns)

    def subquery(self, depth: int, columns: tuple[ColumnRef, ...], outer: tuple[ColumnRef, ...]) -> Expr:
        self.num_subqueries += 1
        visible = columns + outer
        choice = self.random.random()
        if choice < 0.3:
            return call(self.random.choice(("eq", "lt")), self.column(columns), self.scalar(depth, visible))
        plan = self.plan(depth, visible)
        if self.random.random() < 0.8:
            plan = Filter(plan, self.correlation(plan.output, visible))
        if self.random.random() < 0.15:
            keys = tuple(SortKey(column) for column in plan.output)
            plan = Limit(Sort(plan, keys), self.random.randint(0, 2))
        if choice < 0.6:
            return Exists(plan)
        item = self.value(0, plan.output, ())
        return InSubquery((self.column(columns),), Project(plan, (Alias(item, self.fresh(), "i"),)))


def make_plan(seed: int, depth: int = 3) -> LogicalPlan:
    return PlanMaker(random.Random(seed)).plan(depth)

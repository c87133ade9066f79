"""New column and exchange ids in the order of the planner's requests, so that equal plans get equal ids."""

from __future__ import annotations

import itertools

from sharkpy.plan.expr import Alias, ColumnRef, Expr
from sharkpy.plan.logical import LogicalPlan
from sharkpy.values.types import DataType


class FreshIds:
    def __init__(self, plan: LogicalPlan) -> None:
        self._columns = itertools.count(_largest_id(plan) + 1)
        self._exchanges = itertools.count(1)

    def column(self, name: str, dtype: DataType) -> ColumnRef:
        return ColumnRef(next(self._columns), name, dtype)

    def alias(self, expr: Expr, name: str) -> Alias:
        return Alias(expr, next(self._columns), name)

    def exchange(self) -> int:
        return next(self._exchanges)


def _largest_id(plan: LogicalPlan) -> int:
    largest = 0
    for node in plan.walk():
        for root in node.expressions:
            for expr in root.walk():
                if isinstance(expr, (Alias, ColumnRef)):
                    largest = max(largest, expr.column_id)
    return largest

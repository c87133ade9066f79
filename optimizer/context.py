"""State that rules share while one plan is optimised: statistics, settings, fresh ids and memos."""

from __future__ import annotations

from sharkpy.base.settings import Conf
from sharkpy.optimizer.function_traits import is_deterministic_function
from sharkpy.optimizer.statistics import StatisticsProvider
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, Literal
from sharkpy.plan.logical import LEFT_ONLY_JOINS, Join, LogicalPlan, SameColumns
from sharkpy.plan.subqueries import SUBQUERIES

_NO_IDS: frozenset[int] = frozenset()


class Context:
    """State of one call of `optimize`.

    Memos are keyed by the identity of immutable nodes. Each entry keeps its node alive.
    """

    def __init__(self, plan: LogicalPlan, statistics: StatisticsProvider, conf: Conf) -> None:
        self.statistics = statistics
        self.conf = conf
        self.folded: dict[int, Expr] = {}
        self.simplified: dict[int, tuple[Expr, Expr]] = {}
        self.inferred: set[tuple[frozenset[int], Expr]] = set()
        self.rows: dict[int, tuple[LogicalPlan, float]] = {}
        self.sources: dict[int, tuple[LogicalPlan | None, int]] = {}
        self._root = plan
        self._last_id: int | None = None
        self._expr_ids: dict[int, tuple[Expr, frozenset[int]]] = {}
        self._output_ids: dict[int, tuple[LogicalPlan, frozenset[int]]] = {}
        self._deterministic: dict[int, tuple[Expr, bool]] = {}

    def fresh_id(self) -> int:
        """Return a column id that the statement does not use yet."""
        if self._last_id is None:
            self._last_id = max_column_id(self._root)
        self._last_id += 1
        return self._last_id

    def ids(self, expr: Expr) -> frozenset[int]:
        """Return the ids of the columns used in an expression without subqueries."""
        if isinstance(expr, ColumnRef):
            return frozenset((expr.column_id,))
        entry = self._expr_ids.get(id(expr))
        if entry is None:
            entry = self._expr_ids[id(expr)] = (expr, self._compute_ids(expr))
        return entry[1]

    def _compute_ids(self, expr: Expr) -> frozenset[int]:
        found = [self.ids(child) for child in expr.children]
        return found[0].union(*found[1:]) if found else _NO_IDS

    def is_deterministic(self, expr: Expr) -> bool:
        """Return whether every evaluation of `expr` over the same row has the same value."""
        if isinstance(expr, (ColumnRef, Literal)):
            return True
        entry = self._deterministic.get(id(expr))
        if entry is None:
            result = all(map(self.is_deterministic, expr.children))
            if isinstance(expr, Call):
                result = result and is_deterministic_function(expr.function)
            entry = self._deterministic[id(expr)] = (expr, result)
        return entry[1]

    def output_ids(self, plan: LogicalPlan) -> frozenset[int]:
        entry = self._output_ids.get(id(plan))
        if entry is None:
            entry = self._output_ids[id(plan)] = (plan, self._compute_output_ids(plan))
        return entry[1]

    def _compute_output_ids(self, plan: LogicalPlan) -> frozenset[int]:
        match plan:
            case SameColumns():
                return self.output_ids(plan.child)
            case Join():
                left = self.output_ids(plan.left)
                return left if plan.kind in LEFT_ONLY_JOINS else left | self.output_ids(plan.right)
        return plan.output_ids


def max_column_id(plan: LogicalPlan) -> int:
    """Return the largest column id that `plan` produces, including subqueries."""
    largest = 0
    for node in plan.walk():
        largest = max(largest, *(column.column_id for column in node.new_columns), 0)
        for root in node.expressions:
            for expr in root.walk():
                if isinstance(expr, Alias):
                    largest = max(largest, expr.column_id)
                elif isinstance(expr, SUBQUERIES):
                    largest = max(largest, max_column_id(expr.plan))
    return largest

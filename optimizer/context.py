"""State that rules share while one plan is optimised: statistics, settings, fresh ids and memos.

All statistics are estimates: no rule may depend on them for its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Protocol

from sharkpy.base.records import dataclass
from sharkpy.base.settings import Conf
from sharkpy.catalog.model import Table
from sharkpy.optimizer.function_traits import is_deterministic_function
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, Literal, PythonValue
from sharkpy.plan.logical import LEFT_ONLY_JOINS, Join, LogicalPlan, Project, SameColumns
from sharkpy.plan.references import renumbered
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
        for root in node.computations:
            for expr in root.walk():
                if isinstance(expr, Alias):
                    largest = max(largest, expr.column_id)
                elif isinstance(expr, SUBQUERIES):
                    largest = max(largest, max_column_id(expr.plan))
    return largest


# Statistics


RangeShare = Callable[[Sequence[tuple[str, PythonValue]]], float | None]
"""Share of a column's values that match all limits, each "lt", "le", "gt" or "ge" with a value; None if unknown."""
PrefixShare = Callable[[str], float | None]
"""Share of a column's strings with a prefix."""


@dataclass(frozen=True, slots=True)
class ColumnEstimate:
    """Distinct values, smallest and largest value (as Python values of the logical type), share of NULLs.

    `range_share` and `prefix_share`, if present, use the distribution of the values.
    """

    ndv: float | None = None
    min: PythonValue = None
    max: PythonValue = None
    null_fraction: float = 0.0
    range_share: RangeShare | None = field(default=None, compare=False, repr=False)
    prefix_share: PrefixShare | None = field(default=None, compare=False, repr=False)


class StatisticsProvider(Protocol):
    """Source of figures. Both calls must be cheap, since they are made during planning."""

    def num_rows(self, table: Table, /) -> int | None:
        """Return the rows of `table`, or None if unknown."""

    def column(self, table: Table, name: str, /) -> ColumnEstimate | None:
        """Return the figures of a column, or None if unknown."""


class NoStatistics:
    """A provider without figures."""

    def num_rows(self, _table: Table, /) -> int | None:
        return None

    def column(self, _table: Table, _name: str, /) -> ColumnEstimate | None:
        return None


# Columns and subqueries of plans and expressions


def has_subquery(expr: Expr) -> bool:
    return not isinstance(expr, ColumnRef) and any(isinstance(node, SUBQUERIES) for node in expr.walk())


def node_has_subquery(plan: LogicalPlan) -> bool:
    return any(has_subquery(expr) for expr in plan.computations)


def references(exprs: Iterable[Expr]) -> dict[int, ColumnRef]:
    """Return the columns used in `exprs`, in order of appearance."""
    found: dict[int, ColumnRef] = {}
    for expr in exprs:
        for node in expr.walk():
            if isinstance(node, ColumnRef):
                found.setdefault(node.column_id, node)
    return found


def keep_columns(plan: LogicalPlan, columns: tuple[ColumnRef, ...]) -> LogicalPlan:
    """Return `plan` with only `columns`."""
    return plan if plan.output == columns else Project(plan, columns)


def produced_ids(plan: LogicalPlan) -> set[int]:
    """Return every column id that a node of `plan` introduces."""
    found: set[int] = set()
    for node in plan.walk():
        found.update(column.column_id for column in node.new_columns)
        found.update(expr.column_id for expr in node.computations if isinstance(expr, Alias))
    return found


def fresh_copy(plan: LogicalPlan, context: Context) -> tuple[LogicalPlan, dict[int, int]]:
    """Copy `plan`, which has no subqueries, with a new id for every column that it introduces. Return also old id ->
    new id.
    """
    mapping = {column_id: context.fresh_id() for column_id in sorted(produced_ids(plan))}
    return renumbered(plan, lambda column_id: mapping.get(column_id, column_id)), mapping

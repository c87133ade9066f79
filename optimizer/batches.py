"""The rules in the order in which they run, and why in this order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sharkpy.optimizer.context import Context
from sharkpy.optimizer.rules.eliminate_distinct import eliminate_distinct
from sharkpy.optimizer.rules.eliminate_outer_joins import eliminate_outer_joins
from sharkpy.optimizer.rules.fold_constants import fold_constants
from sharkpy.optimizer.rules.infer_predicates import infer_predicates
from sharkpy.optimizer.rules.merge_constant_rows import merge_constant_rows
from sharkpy.optimizer.rules.merge_projects import merge_projects
from sharkpy.optimizer.rules.propagate_empty import propagate_empty
from sharkpy.optimizer.rules.prune_columns import prune_columns
from sharkpy.optimizer.rules.push_down_filters import push_down_filters
from sharkpy.optimizer.rules.push_down_limits import push_down_limits
from sharkpy.optimizer.rules.push_down_semi_joins import push_down_semi_joins
from sharkpy.optimizer.rules.remove_projects import remove_projects
from sharkpy.optimizer.rules.remove_sorts import remove_sorts
from sharkpy.optimizer.rules.reorder_joins import reorder_joins
from sharkpy.optimizer.rules.restrict_aggregates import restrict_aggregates
from sharkpy.optimizer.rules.simplify_expressions import simplify_expressions
from sharkpy.optimizer.rules.unnest_subqueries import unnest_subqueries
from sharkpy.optimizer.rules.widen_semi_joins import widen_semi_joins
from sharkpy.plan.logical import LogicalPlan

Rule = Callable[[LogicalPlan, Context], LogicalPlan]


@dataclass(frozen=True, slots=True)
class Batch:
    """Rules applied in order, at most `max_rounds` times or until nothing changes."""

    name: str
    rules: tuple[Rule, ...]
    max_rounds: int
    reason: str


ONCE = 1
FIXED_POINT = 4

BATCHES: tuple[Batch, ...] = (
    Batch(
        "expressions",
        (fold_constants, simplify_expressions),
        ONCE,
        "NOT IN, NOT EXISTS and factored disjunctions must be visible before subqueries become joins",
    ),
    Batch("subqueries", (unnest_subqueries,), ONCE, "all other rules see joins only, never subqueries"),
    Batch(
        "shape",
        (remove_sorts, merge_projects, merge_constant_rows, eliminate_distinct),
        ONCE,
        "what stands between filters and joins goes before filters move",
    ),
    Batch(
        "filters",
        (eliminate_outer_joins, push_down_filters, infer_predicates),
        FIXED_POINT,
        "an inner join lets more filters through, and a filter on one side gives one on the other",
    ),
    Batch(
        "expressions after moving",
        (fold_constants, simplify_expressions, propagate_empty),
        ONCE,
        "moving filters through projections puts constants in place of columns",
    ),
    Batch(
        "joins",
        (restrict_aggregates, push_down_semi_joins, widen_semi_joins, reorder_joins),
        ONCE,
        "estimates need the filters in their final places",
    ),
    Batch(
        "columns",
        (push_down_limits, prune_columns, merge_projects, remove_projects),
        ONCE,
        "the order of joins decides which columns are needed where",
    ),
)

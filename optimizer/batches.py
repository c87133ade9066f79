"""The table of rules in the order in which they run, with the reasons for that order."""

from __future__ import annotations

from collections.abc import Callable

from sharkpy.base import settings
from sharkpy.base.errors import ConfigurationError, did_you_mean
from sharkpy.base.records import dataclass
from sharkpy.base.settings import Conf
from sharkpy.optimizer.context import Context
from sharkpy.optimizer.rules.bound_windows import bound_windows
from sharkpy.optimizer.rules.convert_joins import eliminate_outer_joins, widen_semi_joins
from sharkpy.optimizer.rules.divide_deep_expressions import divide_deep_expressions
from sharkpy.optimizer.rules.fold_constants import fold_constants
from sharkpy.optimizer.rules.fold_relations import merge_constant_rows, propagate_empty
from sharkpy.optimizer.rules.infer_predicates import infer_predicates
from sharkpy.optimizer.rules.merge_aggregates import merge_aggregates
from sharkpy.optimizer.rules.prune_columns import prune_columns
from sharkpy.optimizer.rules.push_down import push_down_filters, push_down_limits
from sharkpy.optimizer.rules.push_down_aggregates import push_down_aggregates
from sharkpy.optimizer.rules.remove_needless_steps import (
    eliminate_distinct,
    merge_projects,
    remove_projects,
    remove_sorts,
)
from sharkpy.optimizer.rules.reorder_joins import reorder_joins
from sharkpy.optimizer.rules.restrict_by_semi_joins import push_down_semi_joins, restrict_aggregates
from sharkpy.optimizer.rules.simplify_expressions import simplify_expressions
from sharkpy.optimizer.rules.unnest_subqueries import unnest_subqueries
from sharkpy.plan.logical import LogicalPlan

Rewriting = Callable[[LogicalPlan, Context], LogicalPlan]
"""Rewrites a plan to one with the same rows and output, or returns the same object if nothing changed."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rewriting, by the name in EXPLAIN OPTIMIZER and `shark.optimizer.excluded.rules`.

    `needed_for`: the feature that requires the rule, which then cannot be excluded.
    """

    name: str
    apply: Rewriting
    needed_for: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Rules applied in order: once, or until nothing changes, which is expected within `max_rounds`."""

    name: str
    rules: tuple[Rule, ...]
    max_rounds: int
    reason: str

    @property
    def is_repeated(self) -> bool:
        return self.max_rounds > 1


ONCE = 1
FIXED_POINT = 10

FOLD_CONSTANTS = Rule("fold_constants", fold_constants)
SIMPLIFY_EXPRESSIONS = Rule("simplify_expressions", simplify_expressions)
MERGE_PROJECTS = Rule("merge_projects", merge_projects)

BATCHES: tuple[Batch, ...] = (
    Batch(
        "expressions",
        (FOLD_CONSTANTS, SIMPLIFY_EXPRESSIONS),
        ONCE,
        "NOT IN, NOT EXISTS and factored disjunctions must be visible before subqueries become joins",
    ),
    Batch(
        "subqueries",
        (Rule("unnest_subqueries", unnest_subqueries, needed_for="queries with subqueries and LATERAL joins"),),
        ONCE,
        "all other rules see joins only, never subqueries",
    ),
    Batch(
        "shape",
        (
            Rule("remove_sorts", remove_sorts),
            MERGE_PROJECTS,
            Rule("merge_constant_rows", merge_constant_rows),
            Rule("eliminate_distinct", eliminate_distinct),
        ),
        ONCE,
        "what stands between filters and joins goes before filters move",
    ),
    Batch(
        "filters",
        (
            Rule("eliminate_outer_joins", eliminate_outer_joins),
            Rule("push_down_filters", push_down_filters),
            Rule("bound_windows", bound_windows),
            Rule("infer_predicates", infer_predicates),
        ),
        FIXED_POINT,
        "an inner join lets more filters through, a filter on one side gives one on the other, and one of windows one "
        "of times",
    ),
    Batch(
        "expressions after moving",
        (FOLD_CONSTANTS, SIMPLIFY_EXPRESSIONS, Rule("propagate_empty", propagate_empty)),
        ONCE,
        "moving filters through projections puts constants in place of columns",
    ),
    Batch(
        "joins",
        (
            Rule("merge_aggregates", merge_aggregates),
            Rule("restrict_aggregates", restrict_aggregates),
            Rule("push_down_semi_joins", push_down_semi_joins),
            Rule("widen_semi_joins", widen_semi_joins),
            Rule("reorder_joins", reorder_joins),
            Rule("push_down_aggregates", push_down_aggregates),
        ),
        ONCE,
        "estimates need the filters in their final places",
    ),
    Batch(
        "columns",
        (
            Rule("push_down_limits", push_down_limits),
            Rule("prune_columns", prune_columns),
            MERGE_PROJECTS,
            Rule("remove_projects", remove_projects),
        ),
        ONCE,
        "the order of joins decides which columns are needed where",
    ),
    Batch(
        "depth",
        (Rule("divide_deep_expressions", divide_deep_expressions),),
        ONCE,
        "merging projections makes expressions deeper",
    ),
)

RULES: dict[str, Rule] = {rule.name: rule for batch in BATCHES for rule in batch.rules}


def excluded_rules(conf: Conf) -> frozenset[str]:
    """Return the names in `shark.optimizer.excluded.rules`. Raise ConfigurationError for an unknown rule, or one that
    cannot be excluded.
    """
    names = frozenset(name for text in conf.value(settings.EXCLUDED_RULES).split(",") if (name := text.strip().lower()))
    key = settings.EXCLUDED_RULES.key
    for name in sorted(names):
        rule = RULES.get(name)
        if rule is None:
            hint = did_you_mean(name, RULES) or f"the rules are {', '.join(sorted(RULES))}"
            raise ConfigurationError(f'no optimizer rule "{name}" to exclude by {key}', hint=hint, sqlstate="22023")
        if rule.needed_for is not None:
            message = f'the optimizer rule "{name}" cannot be excluded by {key}'
            raise ConfigurationError(message, hint=f"without it there are no {rule.needed_for}", sqlstate="22023")
    return names

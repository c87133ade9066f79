"""Checks of the plan after each rule, for tests: the error names the rule that breaks a plan."""

from __future__ import annotations

from sharkpy.base.errors import InternalError
from sharkpy.optimizer.rule import Batch, Rule
from sharkpy.plan.logical import LATERAL_JOINS, Join, LogicalPlan
from sharkpy.plan.references import column_ids


class RuleChecks:
    """Raise InternalError if a rule changes the output, or leaves a column that no node below produces.

    Also raise it if a repeated batch still changes the plan in its last round.
    """

    def rule_changed(self, batch: Batch, rule: Rule, _number: int, before: LogicalPlan, after: LogicalPlan) -> None:
        if before.output != after.output:
            raise InternalError(
                f'the rule "{rule.name}" (batch "{batch.name}") changed the output '
                f"from {_columns(before)} to {_columns(after)}"
            )
        missing = dangling_columns(after)
        if missing and (missing := missing - dangling_columns(before)):
            raise InternalError(
                f'the rule "{rule.name}" (batch "{batch.name}") left columns that no node produces: '
                f"{sorted(missing)} in\n{after.explain()}"
            )

    def still_changing(self, batch: Batch, plan: LogicalPlan) -> None:
        rounds = f"after {batch.max_rounds} rounds"
        raise InternalError(f'no fixed point of batch "{batch.name}" {rounds}:\n{plan.explain()}')


def _columns(plan: LogicalPlan) -> str:
    return ", ".join(f"{column} {column.dtype}" for column in plan.output)


def dangling_columns(plan: LogicalPlan) -> frozenset[int]:
    """Return the columns that a node of `plan` uses but its children do not produce. Lateral sides may use outer
    columns.
    """
    found: set[int] = set()
    waiting: list[tuple[LogicalPlan, frozenset[int]]] = [(plan, frozenset())]
    while waiting:
        node, outer = waiting.pop()
        given = outer.union(column.column_id for column in node.new_columns)
        given = given.union(*(child.output_ids for child in node.children))
        for expr in node.expressions:
            found |= column_ids(expr) - given
        inner = given if isinstance(node, Join) and node.kind in LATERAL_JOINS else outer
        waiting += [(child, inner) for child in node.children]
    return frozenset(found)

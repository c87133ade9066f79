"""The optimizer: it rewrites a plan to a plan with the same rows.

Observers see each step: `Trace` for EXPLAIN OPTIMIZER, and in tests `RuleChecks`, whose error names the rule that
breaks a plan.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from dataclasses import field
from typing import Protocol

from sharkpy.base import settings
from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import InternalError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import Conf
from sharkpy.optimizer.batches import BATCHES, Batch, Rule, excluded_rules
from sharkpy.optimizer.context import Context, StatisticsProvider
from sharkpy.plan.logical import LATERAL_JOINS, Join, LogicalPlan
from sharkpy.plan.references import column_ids


class Observer(Protocol):
    """Observer of the steps of one call of `optimize`, called in order."""

    def rule_changed(self, batch: Batch, rule: Rule, number: int, before: LogicalPlan, after: LogicalPlan, /) -> None:
        """`rule` changed the plan in round `number` of `batch`, counted from 1."""

    def still_changing(self, batch: Batch, plan: LogicalPlan, /) -> None:
        """The last round of a repeated batch still changed the plan."""


def optimize(
    plan: LogicalPlan, statistics: StatisticsProvider, conf: Conf, observers: tuple[Observer, ...] = ()
) -> LogicalPlan:
    """Return an equivalent of `plan` with the same output columns, in the same order.

    It has no subquery expressions. Predicates are in scans if possible, and scans read only the used columns. Raise
    UnsupportedError for a subquery that cannot become a join, ConfigurationError for a rule that cannot be excluded.
    """
    context = Context(plan, statistics, conf)
    excluded = excluded_rules(conf)
    if conf.value(settings.CHECK_RULES):
        observers = (RuleChecks(), *observers)
    for batch in BATCHES:
        plan = run_batch(plan, batch, context, excluded, observers)
    return plan


def run_batch(
    plan: LogicalPlan,
    batch: Batch,
    context: Context,
    excluded: Collection[str] = (),
    observers: tuple[Observer, ...] = (),
) -> LogicalPlan:
    rules = [rule for rule in batch.rules if rule.name not in excluded]
    for number in range(1, batch.max_rounds + 1):
        start = plan
        for rule in rules:
            check_cancelled()
            before, plan = plan, rule.apply(plan, context)
            if plan is not before:
                for observer in observers:
                    observer.rule_changed(batch, rule, number, before, plan)
        if plan is start:
            return plan
    if batch.is_repeated:
        for observer in observers:
            observer.still_changing(batch, plan)
    return plan


# EXPLAIN OPTIMIZER


_CONTEXT = 1
"""Unchanged lines shown on each side of changed ones."""


@dataclass(slots=True)
class Trace:
    """An observer of the optimizer that collects a title and the changed lines of each step."""

    lines: list[str] = field(default_factory=list)

    def rule_changed(self, batch: Batch, rule: Rule, number: int, before: LogicalPlan, after: LogicalPlan) -> None:
        place = f"batch {batch.name}, round {number}" if batch.is_repeated else f"batch {batch.name}"
        changed = list(changed_lines(before.explain().splitlines(), after.explain().splitlines()))
        if changed:
            self.lines += [f"== {rule.name}: {place} ==", *changed]

    def still_changing(self, batch: Batch, _plan: LogicalPlan) -> None:
        self.lines.append(f"== batch {batch.name}: still changing after {batch.max_rounds} rounds ==")


def changed_lines(before: list[str], after: list[str]) -> Iterator[str]:
    """Yield removed (-) and added (+) lines with their neighbours. A line whose indentation changed counts as
    unchanged.
    """
    matcher = difflib.SequenceMatcher(None, [line.strip() for line in before], [line.strip() for line in after], False)
    end = 0
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        if group[0][3] > end:
            yield "  ..."
        for tag, first, last, new_first, new_last in group:
            if tag == "equal":
                yield from (f"  {line}" for line in after[new_first:new_last])
                continue
            yield from (f"- {line}" for line in before[first:last])
            yield from (f"+ {line}" for line in after[new_first:new_last])
        end = group[-1][4]
    if 0 < end < len(after):
        yield "  ..."


# Checks for tests


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

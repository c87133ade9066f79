"""The optimizer: it rewrites a plan to a plan with the same rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from sharkpy.base import settings
from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.settings import Conf
from sharkpy.optimizer.batches import BATCHES, excluded_rules
from sharkpy.optimizer.check_rule import RuleChecks
from sharkpy.optimizer.context import Context
from sharkpy.optimizer.rule import Batch, Rule
from sharkpy.optimizer.statistics import StatisticsProvider
from sharkpy.plan.logical import LogicalPlan


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

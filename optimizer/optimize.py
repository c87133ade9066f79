"""The optimizer: a plan in, a plan with the same rows out."""

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
    """Listener to the steps of one call of `optimize`, told of each in order."""

    def rule_changed(self, batch: Batch, rule: Rule, number: int, before: LogicalPlan, after: LogicalPlan, /) -> None:
        """`rule` changed the plan in round `number` of `batch`, from 1."""

    def still_changing(self, batch: Batch, plan: LogicalPlan, /) -> None:
        """The last round of a repeated batch changed the plan too."""


def optimize(
    plan: LogicalPlan, statistics: StatisticsProvider, conf: Conf, observers: tuple[Observer, ...] = ()
) -> LogicalPlan:
    """`plan` with the same output columns, in the same order.

    No subquery expression is left; predicates are in scans where they can be; scans read the columns used.
    UnsupportedError names a subquery that cannot be turned into a join, ConfigurationError what cannot be excluded.
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

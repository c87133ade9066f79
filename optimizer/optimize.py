"""The optimizer: a plan in, a plan with the same rows out."""

from __future__ import annotations

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.settings import Conf
from sharkpy.optimizer.batches import BATCHES, Batch
from sharkpy.optimizer.context import Context
from sharkpy.optimizer.statistics import StatisticsProvider
from sharkpy.optimizer.subqueries.columns import keep_columns
from sharkpy.plan.logical import LogicalPlan


def optimize(plan: LogicalPlan, statistics: StatisticsProvider, conf: Conf) -> LogicalPlan:
    """`plan` with the same output columns, in the same order.

    No subquery expression is left; predicates are in scans where they can be; scans read the columns used.
    UnsupportedError names a subquery that cannot be turned into a join.
    """
    context = Context(plan, statistics, conf)
    output = plan.output
    for batch in BATCHES:
        plan = run_batch(plan, batch, context)
    return keep_columns(plan, output)


def run_batch(plan: LogicalPlan, batch: Batch, context: Context) -> LogicalPlan:
    for _ in range(batch.max_rounds):
        before = plan
        for rule in batch.rules:
            check_cancelled()
            plan = rule(plan, context)
        if plan is before:
            break
    return plan

"""Planning of steps of Python code: their inputs, and where their rows must be."""

from __future__ import annotations

import dataclasses

from sharkpy.physical.operators import Exchange, StepOperator
from sharkpy.physical.operators import Project as ProjectOperator
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.plan_context import FreshIds
from sharkpy.plan.logical import Distribute, Filter, LogicalPlan, Project, Sort, Step
from sharkpy.plan.row_steps import Script


def step_input(plan: LogicalPlan) -> LogicalPlan:
    """Return the input of a step. Rows in a total order all go to one task, as the order would end with a task."""
    match plan:
        case Sort(child, _, True):
            return dataclasses.replace(plan, child=Distribute(child, ()))
        case Project(child) | Filter(child):
            return dataclasses.replace(plan, child=step_input(child))
    return plan


def plan_step(node: Step, child: PhysicalPlan, ids: FreshIds) -> StepOperator:
    """Return the step over exactly its input: the columns that it passes on, then its arguments."""
    arguments = tuple(ids.alias(expr, "argument") for expr in node.arguments)
    return StepOperator(ProjectOperator(child, node.passed + arguments), node.step, node.columns, node.passed)


def has_step(plan: PhysicalPlan) -> bool:
    """Whether the stage of `plan` has a step, which is not worth running again for a sample."""
    if isinstance(plan, Exchange):
        return False
    return isinstance(plan, StepOperator) or any(map(has_step, plan.children))


def runs_scripts(plan: PhysicalPlan) -> bool:
    """Whether the plan runs users' scripts."""
    return any(isinstance(node, StepOperator) and isinstance(node.step, Script) for node in plan.walk())

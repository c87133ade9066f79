"""The forms of EXPLAIN other than plain, EXTENDED and ANALYZE, one row per form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sharkpy.base.errors import UnsupportedError
from sharkpy.execution.queries.plan_query import plan_steps, trace_rules
from sharkpy.explain.dependencies import authorization_lines, dependency_lines, lock_lines
from sharkpy.optimizer.batches import excluded_rules
from sharkpy.optimizer.context import Context
from sharkpy.optimizer.estimate import estimate_rows
from sharkpy.plan.commands import Explain, queries_of
from sharkpy.plan.logical import LogicalPlan

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.physical.plan import PhysicalPlan

Lines = Callable[[Explain, "EngineSession"], Iterator[str]]


def _plans(command: Explain) -> tuple[LogicalPlan, ...]:
    statement = command.statement
    if isinstance(statement, LogicalPlan):
        return (statement,)
    plans = queries_of(statement)
    if not plans:
        raise UnsupportedError(f"EXPLAIN {command.form.upper()} of a statement without a query")
    return plans


def _logical(command: Explain, _: EngineSession) -> Iterator[str]:
    """Yield the bound plan of each query."""
    for plan in _plans(command):
        yield "LOGICAL PLAN:"
        yield from plan.explain().splitlines()


def _optimized(command: Explain, session: EngineSession) -> Iterator[str]:
    """Yield the optimized plan of each query."""
    for plan in _plans(command):
        yield "CBO PLAN:"
        yield from plan_steps(session, plan)[0].explain().splitlines()


def _cost(command: Explain, session: EngineSession) -> Iterator[str]:
    """Yield the optimized plan with the estimated rows of each step."""
    for plan in _plans(command):
        yield "CBO PLAN:"
        snapshot = session.snapshot()
        optimized = plan_steps(session, plan, snapshot)[0]
        yield from _with_rows(optimized, Context(optimized, snapshot, session.conf), 0)


def _with_rows(plan: LogicalPlan, estimates: Context, depth: int) -> Iterator[str]:
    yield f"{'  ' * depth}{plan.label}: {estimate_rows(plan, estimates):,.0f} rows"
    for child in plan.children:
        yield from _with_rows(child, estimates, depth + 1)


def _rules(command: Explain, session: EngineSession) -> Iterator[str]:
    """Yield the bound plan, and the lines that each effective rule of the optimizer removed and added."""
    excluded = excluded_rules(session.conf)
    for plan in _plans(command):
        yield "== Bound plan =="
        yield from plan.explain().splitlines()
        yield from trace_rules(session, plan).lines
        if excluded:
            yield f"== excluded: {', '.join(sorted(excluded))} =="


def _tree(command: Explain, _: EngineSession) -> Iterator[str]:
    yield "ABSTRACT SYNTAX TREE:"
    yield from command.tree.splitlines()


def _formatted(command: Explain, session: EngineSession) -> Iterator[str]:
    """Yield JSON text: the kind of statement, and its operators from the result down."""
    statement = command.statement
    kind = "Query" if isinstance(statement, LogicalPlan) else type(statement).__name__
    queries = (statement,) if isinstance(statement, LogicalPlan) else queries_of(statement)
    plans = [_operator(plan_steps(session, plan)[1].root) for plan in queries]
    yield json.dumps({"statement": kind, "plans": plans}, ensure_ascii=False)


def _operator(plan: PhysicalPlan) -> dict[str, object]:
    inputs = [_operator(child) for child in plan.children]
    return {"operator": type(plan).__name__, "label": plan.label} | ({"inputs": inputs} if inputs else {})


def _vectorization(command: Explain, session: EngineSession) -> Iterator[str]:
    yield "PLAN VECTORIZATION:"
    yield "  enabled: true"
    yield "  enabledConditionsMet: [every operator works on batches of columns]"
    for plan in _plans(command):
        yield ""
        yield from plan_steps(session, plan)[1].root.explain().splitlines()


FORMS: dict[str, Lines] = {
    "formatted": _formatted,
    "dependency": dependency_lines,
    "authorization": authorization_lines,
    "locks": lock_lines,
    "logical": _logical,
    "cbo": _optimized,
    "rewrite": _optimized,
    "cost": _cost,
    "optimizer": _rules,
    "ast": _tree,
    "vectorization": _vectorization,
}

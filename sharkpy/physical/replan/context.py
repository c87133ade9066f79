"""Context of run-time rules: the session's settings, and the decisions made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sharkpy.base.settings import Conf
from sharkpy.optimizer.replan.decision import Decision
from sharkpy.physical.plan import PhysicalPlan


@dataclass(slots=True)
class ReplanContext:
    """Context of run-time rules; `is_free` if nothing relies on which task has the plan's rows."""

    settings: Conf
    is_free: bool = True
    decisions: list[Decision] = field(default_factory=list)

    def decide(self, rule: str, text: str, **figures: int) -> None:
        named = tuple((name.replace("_", " "), value) for name, value in figures.items())
        self.decisions.append(Decision(rule, text, named))


ReplanRule = Callable[[PhysicalPlan, ReplanContext], PhysicalPlan]
"""Rule; it returns the same object if it changes nothing."""

"""Rules with stable names, and batches of rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sharkpy.optimizer.context import Context
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

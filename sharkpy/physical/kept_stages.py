"""Cached stages of bound queries that are planned repeatedly, because their tables' rows change."""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from dataclasses import dataclass

from sharkpy.base import settings
from sharkpy.physical.check_stage import check_stage
from sharkpy.physical.context import PlanContext
from sharkpy.physical.placement import PlacedPlan
from sharkpy.physical.planner import plan_physical
from sharkpy.physical.stage import Stage
from sharkpy.physical.stage_template import FilledStage, StageTemplate, template_of
from sharkpy.plan.logical import LogicalPlan


@dataclass(slots=True)
class _Kept:
    query: weakref.ref[LogicalPlan]
    optimized: weakref.ref[LogicalPlan]
    template: StageTemplate | None = None
    misses: int = 0
    """Number of consecutive times that the template could not be filled, or was missing."""

    @property
    def is_due(self) -> bool:
        """True if another template is worth trying; ever more rarely while none can be filled."""
        return self.misses & (self.misses - 1) == 0


class KeptStages:
    """Templates of stages, each cached while its bound query exists. Thread-safe."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Hashable], _Kept] = {}

    def __len__(self) -> int:
        return len(self._known)

    def plan(
        self, query: LogicalPlan, changes: Hashable, optimized: LogicalPlan, context: PlanContext
    ) -> tuple[PlacedPlan, Stage | None]:
        """Return a bound query's physical plan, and its stage if one is cached.

        `optimized` is its known optimised plan, made under the same `changes` of settings. The stage may have been made
        for other rows, or be valid for other rows too.
        """
        kept = self._of(query, changes, optimized)
        known = kept.template
        filled = None if known is None else known.filled(optimized, context)
        if filled is not None:
            kept.misses = 0
            return _checked(filled, optimized, context)
        plan = plan_physical(optimized, context)
        kept.misses += 1
        if not kept.is_due:
            return plan, None
        made = template_of(optimized, plan, context, known)
        if made is not None and any(scan is query for scan in made.sources):
            # The template would keep the query alive forever.
            made = None
        kept.template = made
        filled = None if made is None else made.filled(optimized, context)
        return (plan, None) if filled is None else _checked(filled, optimized, context)

    def _of(self, query: LogicalPlan, changes: Hashable, optimized: LogicalPlan) -> _Kept:
        key = (id(query), changes)
        known = self._known.get(key)
        if known is None or known.query() is not query or known.optimized() is not optimized:
            forget = self._known.pop
            known = _Kept(weakref.ref(query, lambda _: forget(key, None)), weakref.ref(optimized))
            self._known[key] = known
        return known


def _checked(filled: FilledStage, optimized: LogicalPlan, context: PlanContext) -> FilledStage:
    if context.conf.value(settings.CHECK_STAGES):
        check_stage(*filled, optimized, context)
    return filled

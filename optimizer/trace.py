"""Changes that rules make to a plan, as the lines of EXPLAIN OPTIMIZER."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field

from sharkpy.optimizer.rule import Batch, Rule
from sharkpy.plan.logical import LogicalPlan

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

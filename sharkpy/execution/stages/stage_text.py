"""Texts about plans that have run: figures, one line a stage, and a whole run for the history of statements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sharkpy.execution.stages.profile import QueryProfile, StageProfile
    from sharkpy.physical.plan import PhysicalPlan


def run_text(profile: QueryProfile, planned: PhysicalPlan) -> str:
    """The stages that ran, each with its figures and operators, and the decisions.

    Where the run ended before its last stage was known, the rest is shown as `planned`.
    """
    lines = [*_stage_lines(profile)]
    if not profile.physical:
        lines += ["planned:", _indented(planned.explain())]
    lines += [f"decided: {decision}" for decision in profile.decisions]
    return "\n".join(lines)


def _stage_lines(profile: QueryProfile) -> Iterator[str]:
    for number, stage in enumerate(profile.stages, 1):
        target = "" if stage.exchange_id is None else f", into exchange {stage.exchange_id}"
        rows = f"{count_of(stage.rows_in, 'row')} in, {stage.rows_out:,} out"
        yield f"stage {number}{target}: {stage_work(stage)}; {rows}"
        if number == len(profile.stages) and stage.exchange_id is None and profile.physical:
            yield _indented(profile.physical)
        elif stage.fragment is not None:
            yield _indented(stage.fragment.explain())


def _indented(plan: str) -> str:
    return "  " + plan.replace("\n", "\n  ")


def stage_work(stage: StageProfile) -> str:
    """Where a stage ran, in how many tasks, and how long."""
    tasks = count_of(stage.num_tasks, "task")
    if stage.placement == "driver":
        text = f"{tasks} in the driver, {format_seconds(stage.seconds)}"
    else:
        text = f"{tasks} on RDDs, {format_seconds(stage.seconds)} ({format_seconds(stage.task_seconds)} in tasks)"
        text += f", {format_bytes(stage.bytes_out)} out"
    if stage.placed_tasks:
        text += f", {stage.beside_tasks} of {count_of(stage.placed_tasks, 'task')} beside their blocks"
    if stage.blocks_rebuilt:
        text += f", {count_of(stage.blocks_rebuilt, 'block')} rebuilt in place"
    if stage.malformed_fields or stage.malformed_lines:
        lines, fields = (
            count_of(stage.malformed_lines, "malformed line"),
            count_of(stage.malformed_fields, "malformed field"),
        )
        text += f"; {lines}, {fields}"
    return text


def count_of(number: int, word: str) -> str:
    return f"{number:,} {word}" + ("" if number == 1 else "s")


def format_seconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def format_bytes(size: int) -> str:
    for limit, unit in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")):
        if size >= limit:
            return f"{size / limit:.1f} {unit}"
    return f"{size} B"

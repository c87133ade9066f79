"""Texts about plans that have run: figures, one line per stage, and a whole run for the history."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sharkpy.execution.stages.profile import QueryProfile, StageProfile
    from sharkpy.physical.plan import PhysicalPlan
    from sharkpy.sources.storage.meter import RequestCounts


def run_text(profile: QueryProfile, planned: PhysicalPlan, *, is_whole: bool) -> str:
    """Return the text of a run: each stage with figures and operators, the unfinished stage, the decisions.

    `planned` is the plan before its first stage ran; `is_whole` if its last stage finished.
    """
    lines = []
    for number, stage in enumerate(profile.stages, 1):
        lines.append(f"stage {number}{_target(stage)}: {stage_work(stage)}; {_rows(stage)}")
        if is_whole and number == len(profile.stages):
            lines.append(_indented(profile.physical))
        elif stage.fragment is not None:
            lines.append(_indented(stage.fragment.explain()))
    if not is_whole:
        lines += ["not ended:", _indented(profile.physical or planned.explain())]
    lines += [f"decided: {decision}" for decision in profile.decisions]
    return "\n".join(lines)


def _target(stage: StageProfile) -> str:
    return "" if stage.exchange_id is None else f", into exchange {stage.exchange_id}"


def _rows(stage: StageProfile) -> str:
    return f"{count_of(stage.rows_in, 'row')} in, {stage.rows_out:,} out"


def _indented(plan: str) -> str:
    return "  " + plan.replace("\n", "\n  ")


def stage_work(stage: StageProfile) -> str:
    """Return a text of a stage's place, number of tasks, and time."""
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
    if stage.requested.requests:
        text += f", {requests_text(stage.requested)}"
    if stage.malformed_fields or stage.malformed_lines:
        lines, fields = (
            count_of(stage.malformed_lines, "malformed line"),
            count_of(stage.malformed_fields, "malformed field"),
        )
        text += f"; {lines}, {fields}"
    return text


def requests_text(requested: RequestCounts) -> str:
    return f"{count_of(requested.requests, 'request')} to storage for {format_bytes(requested.fetched_bytes)}"


def count_of(number: int, word: str) -> str:
    return f"{number:,} {word}" + ("" if number == 1 else "s")


def format_seconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def format_bytes(size: int) -> str:
    for limit, unit in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")):
        if size >= limit:
            return f"{size / limit:.1f} {unit}"
    return f"{size} B"

"""Profile of a finished query, for Result.profile and EXPLAIN ANALYZE, and its text."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from sharkpy.base.records import dataclass
from sharkpy.execution.statement_figures import TableLoad
from sharkpy.execution.tasks.report import OperatorFigures, TaskReport, sum_figures
from sharkpy.optimizer.decisions import Decision
from sharkpy.sources.storage.meter import RequestCounts

if TYPE_CHECKING:
    from sharkpy.physical.plan import PhysicalPlan
    from sharkpy.physical.stage import Stage


@dataclass(frozen=True, slots=True)
class TaskRun:
    """Run of a task in a worker. `started` is in seconds since 1970, by the clock of the worker's host."""

    started: float
    seconds: float
    worker: str
    """Host and process."""
    attempt: int
    """Runs of the task that were lost before."""
    bytes_spilled: int | None


@dataclass(frozen=True, slots=True)
class StageProfile:
    """Stage that ran; `seconds` is wall time, `task_seconds` the sum over its tasks."""

    label: str
    placement: str
    """"driver" or "rdd"."""
    num_tasks: int
    rows_in: int
    rows_out: int
    bytes_out: int
    """Bytes that RDD tasks passed on; 0 in the driver, as rows stay there."""
    seconds: float
    task_seconds: float
    exchange_id: int | None = None
    bytes_per_bucket: tuple[int, ...] = ()
    malformed_lines: int = 0
    malformed_fields: int = 0
    malformed_rows: int = 0
    """Malformed rows of streams, in epochs of continuous queries."""
    changed_rows: int = 0
    """Written rows that an UPDATE or MERGE changed."""
    fragment: PhysicalPlan | None = field(default=None, repr=False)
    """Operators that the stage ran."""
    leaves: tuple[tuple[str, PhysicalPlan], ...] = field(default=(), repr=False)
    """Scans and exchange reads of `fragment`, by their relation in the stage's query."""
    operators: tuple[OperatorFigures, ...] = ()
    """DuckDB's measurements, summed over tasks; only under EXPLAIN ANALYZE."""
    cpu_seconds_per_task: tuple[float, ...] = ()
    """CPU seconds of each task's process, in task order, which other load does not affect; 0 in the driver."""
    rows_per_task: tuple[int, ...] = ()
    """Rows that each task read."""
    placed_tasks: int = 0
    """Number of tasks that read blocks in the memory of hosts other than the driver's."""
    beside_tasks: int = 0
    """Number of these tasks that ran on the host of most of their blocks."""
    blocks_rebuilt: int = 0
    """Number of lost or damaged blocks that the stage's tasks rebuilt themselves."""
    requested: RequestCounts = RequestCounts()
    """Requests of the stage to remote storage."""
    rows_read: int = 0
    """Part of `rows_in` that came from tables, files and programs, not from exchanges."""
    file_bytes: int = 0
    """Bytes read from data files."""
    bytes_spilled: int | None = None
    """Bytes that DuckDB wrote to temporary files; only under EXPLAIN ANALYZE."""
    is_constant: bool = False
    """Whether the planner knew its rows."""
    started: float = 0.0
    """Start, in seconds since 1970."""
    task_runs: tuple[TaskRun, ...] = ()
    """Runs of its tasks in workers, in task order; none in the driver."""
    repairs: int = 0
    """Number of runs that failed before, after which lost blocks or workers were replaced."""


@dataclass(slots=True)
class QueryProfile:
    """Profile of a query: its stages in the order they ended, and the decisions before and between them."""

    stages: list[StageProfile] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    loads: list[TableLoad] = field(default_factory=list)
    """Loads of tables for which it waited before its first stage."""
    plan: PhysicalPlan | None = field(default=None, repr=False)
    """Final plan: the operators of its last stage, which `stages` has too after it ended."""
    seconds: float = 0.0
    """Seconds from the first stage's start to the last row."""
    queued_seconds: float = 0.0
    """Seconds that the query waited for admission, before the first stage."""
    queued_behind: int = 0
    """Number of queries that waited before it when it arrived."""
    table: str = ""
    """Name of the table of WITH that the query has computed, if it has."""

    @property
    def is_constant(self) -> bool:
        """Whether its stages have returned rows that the planner knew."""
        return all(stage.is_constant for stage in self.stages)

    @property
    def physical(self) -> str:
        """Text of the final plan, made on demand; empty before the last stage begins."""
        return "" if self.plan is None else self.plan.explain()


def stage_profile(
    stage: Stage,
    num_tasks: int,
    reports: Sequence[TaskReport],
    seconds: float,
    exchange_id: int | None = None,
    bytes_per_bucket: tuple[int, ...] = (),
    repairs: int = 0,
) -> StageProfile:
    """Return the profile of a run of `stage`, from its tasks' reports."""
    reads = [report.read for report in reports if report.read is not None]
    rows_in = sum(report.rows_in for report in reports)
    spilled = [report.bytes_spilled for report in reports if report.bytes_spilled is not None]
    return StageProfile(
        stage.label,
        stage.placement.place.value,
        num_tasks,
        rows_in,
        sum(report.rows_out for report in reports),
        sum(report.bytes_out for report in reports),
        seconds,
        sum(report.seconds for report in reports),
        exchange_id,
        bytes_per_bucket,
        sum(read.malformed_lines for read in reads),
        sum(read.malformed_fields for read in reads),
        sum(read.malformed_rows for read in reads),
        sum(read.changed_rows for read in reads),
        stage.fragment,
        stage.leaves,
        sum_figures(report.operators for report in reports),
        tuple(report.cpu_seconds for report in reports),
        tuple(report.rows_in for report in reports),
        placed_tasks=sum(report.blocks_local + report.blocks_remote > 0 for report in reports),
        beside_tasks=sum(report.blocks_local >= max(report.blocks_remote, 1) for report in reports),
        blocks_rebuilt=sum(report.blocks_rebuilt for report in reports),
        requested=sum((report.requested for report in reports), RequestCounts()),
        rows_read=rows_in - sum(report.rows_exchanged for report in reports),
        file_bytes=sum(read.bytes for read in reads),
        bytes_spilled=sum(spilled) if spilled else None,
        is_constant=stage.rows is not None,
        started=time.time() - seconds,
        task_runs=tuple(
            TaskRun(one.ended - one.seconds, one.seconds, one.worker, one.attempt, one.bytes_spilled)
            for one in reports
            if one.worker
        ),
        repairs=repairs,
    )


def run_text(profile: QueryProfile, planned: PhysicalPlan, *, is_whole: bool) -> str:
    """Return the text of a run: each stage with figures and operators, the unfinished stage, the decisions.

    `planned` is the plan before its first stage ran; `is_whole` if its last stage finished.
    """
    lines = load_lines(profile)
    for number, stage in enumerate(profile.stages, 1):
        lines.append(f"stage {number}{_target(stage)}: {stage_summary(stage)}; {_rows(stage)}")
        if is_whole and number == len(profile.stages):
            lines.append(_indented(profile.physical))
        elif stage.fragment is not None:
            lines.append(_indented(stage.fragment.explain()))
    if not is_whole:
        lines += ["not ended:", _indented(profile.physical or planned.explain())]
    lines += [f"decided: {decision}" for decision in profile.decisions]
    return "\n".join(lines)


def load_lines(profile: QueryProfile) -> list[str]:
    """Return a line for each table that was loaded for the query."""
    return [
        f"loading {one.table}: {format_seconds(one.seconds)}, {count_of(one.blocks, 'block')}" for one in profile.loads
    ]


def _target(stage: StageProfile) -> str:
    return "" if stage.exchange_id is None else f", into exchange {stage.exchange_id}"


def _rows(stage: StageProfile) -> str:
    return f"{count_of(stage.rows_in, 'row')} in, {stage.rows_out:,} out"


def _indented(plan: str) -> str:
    return "  " + plan.replace("\n", "\n  ")


def stage_summary(stage: StageProfile) -> str:
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

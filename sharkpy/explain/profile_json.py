"""Profile of a statement as JSON: its operators as one tree, its stages and decisions, for programs and pages.

Records of the history keep the part that comes from plans (`runs_text`). Times are in seconds, sizes in bytes, and
figures that were not measured are null.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from sharkpy.execution.stages.profile import format_bytes
from sharkpy.execution.statement_figures import TableLoad, loading_seconds
from sharkpy.explain.measured_tree import (
    Node,
    Written,
    block_notes,
    measured_operators,
    planned_operators,
    written_exchanges,
)
from sharkpy.physical.operators import BlockScan, ExchangeRead, FileScan, ValuesScan

if TYPE_CHECKING:
    from sharkpy.catalog.statement_records import StatementRecord
    from sharkpy.execution.stages.profile import QueryProfile, StageProfile
    from sharkpy.execution.statement import PlanRun, Statement
    from sharkpy.optimizer.decisions import Decision
    from sharkpy.physical.plan import PhysicalPlan

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"
Facts: TypeAlias = dict[str, Json]
VERSION = 1
_MOST_LABEL = 500
"""Longest label of an operator of a statement in the history; conditions may be long."""
_MOST_TASKS = 1_000
"""Tasks of a stage of which the profile has starts and workers."""


def runs_text(runs: Sequence[PlanRun]) -> str:
    """Return the operators, stages and decisions of the plans that a statement has run; "" if there are none."""
    if not runs:
        return ""
    made = _Profile(_MOST_LABEL)
    for run in runs:
        made.add(run.profile, run.planned, is_whole=run.is_whole)
    return _text(made.facts())


def analyzed_text(profiles: Iterable[QueryProfile], statement: Statement, user: str, rows: int, seconds: float) -> str:
    """Return the whole profile of a run of EXPLAIN ANALYZE, whose query returned `rows` in `seconds`."""
    made = _Profile()
    for profile in profiles:
        if profile.plan is not None:
            made.add(profile, profile.plan, is_whole=True)
    figures = statement.figures
    head: Facts = {
        "version": VERSION,
        "query_id": statement.query_id,
        "text": statement.text,
        "user": user,
        "started": _time_text(datetime.fromtimestamp(time.time() - seconds, UTC)),
        "seconds": _rounded(seconds),
        "planning_seconds": _rounded(figures.planning_seconds),
        "queued_seconds": _rounded(statement.queued_seconds),
        "running_seconds": _rounded(max(0.0, seconds - statement.queued_seconds)),
        "rows_read": figures.rows_read,
        "rows_returned": rows,
        "bytes_read": figures.bytes_read,
        "rows_written": statement.rows_written,
        "bytes_spilled": figures.bytes_spilled,
        "cpu_seconds": _rounded(figures.cpu_seconds),
        "peak_bytes": figures.peak_bytes,
        "blocks_read": figures.blocks_read,
        "blocks_pruned": figures.blocks_pruned,
    }
    return _text({**head, **made.facts(), "error": None})


def profile_of(record: StatementRecord) -> Facts | None:
    """Return the whole profile of a statement of the history, or None if the history has none."""
    if not record.profile:
        return None
    error: Facts | None = None
    if record.sqlstate:
        place: Facts = {"line": record.error_line, "column": record.error_column, "hint": record.error_hint}
        error = {"message": record.error, "sqlstate": record.sqlstate, **place}
    head: Facts = {
        "version": VERSION,
        "query_id": record.query_id,
        "text": record.text,
        "user": record.user,
        "started": _time_text(record.started),
        "seconds": record.seconds,
        "planning_seconds": record.planning_seconds,
        "queued_seconds": record.queued_seconds,
        "running_seconds": record.running_seconds,
        "rows_read": record.input_rows,
        "rows_returned": record.rows_read,
        "bytes_read": record.bytes_read,
        "rows_written": record.rows_written,
        "bytes_spilled": record.bytes_spilled,
        "cpu_seconds": record.cpu_seconds,
        "peak_bytes": record.peak_bytes,
        "blocks_read": record.blocks_read,
        "blocks_pruned": record.blocks_pruned,
    }
    return {**head, **json.loads(record.profile), "error": error}


class _Profile:
    """Profile that is being made: of the queries of one statement, in order.

    Operators have their place in `operators` as id. The root is the result of the last query. If `most_label` is given,
    the profile is for the history: labels are cut, and no block is opened for its encodings.
    """

    def __init__(self, most_label: int | None = None) -> None:
        self._most_label = most_label
        self._root: int | None = None
        self._tables: dict[str, int] = {}
        """Roots of the queries that have computed tables of WITH, by name."""
        self._operators: list[Facts] = []
        self._stages: list[Json] = []
        self._decisions: list[Json] = []
        self._loads: list[TableLoad] = []

    def facts(self) -> Facts:
        return {
            "loading_seconds": _rounded(loading_seconds(self._loads)),
            "loads": [_load(one) for one in self._loads],
            "root": self._root,
            "operators": self._operators,
            "stages": self._stages,
            "decisions": self._decisions,
        }

    def add(self, profile: QueryProfile, planned: PhysicalPlan, *, is_whole: bool) -> None:
        """Add a query. `planned` is its plan before it ran; `is_whole` if its last stage has ended."""
        before, written = len(self._stages), written_exchanges(profile)
        last = profile.stages[-1] if is_whole and profile.stages else None
        if last is not None and last.fragment is not None:
            root, others = measured_operators(last, last.fragment)
            self._root = self._add_operators(root, before, len(profile.stages), written, others)
        else:
            root = planned_operators(profile.plan or planned)
            self._root = self._add_operators(root, before, len(profile.stages) + 1, written, ())
        if profile.table:
            self._tables[profile.table] = self._root
        self._stages += [_stage(before + number, stage) for number, stage in enumerate(profile.stages, 1)]
        self._decisions += map(_decision, profile.decisions)
        self._loads += profile.loads

    def _add_operators(self, node: Node, before: int, number: int, written: Written, notes: Iterable[str]) -> int:
        """Add an operator of stage `number` of its query and the operators below it. Return its id."""
        plan, figures, number_of_it = node.plan, node.figures, len(self._operators)
        scan = plan if isinstance(plan, BlockScan) else None
        children: list[Json] = []
        self._operators.append(
            {
                "id": number_of_it,
                "stage": before + number,
                "children": children,
                "kind": type(plan).__name__.removesuffix("Operator"),
                "label": self._label(plan),
                "rows": figures.rows,
                "bytes": figures.size_bytes,
                "seconds": _rounded(figures.seconds),
                "blocks_read": None if scan is None else scan.blocks.num_kept,
                "blocks_pruned": None if scan is None else scan.blocks.num_blocks - scan.blocks.num_kept,
                "notes": [*(f"DuckDB chose another order, with a join of {one}" for one in notes), *self._notes(plan)],
            }
        )
        children += [self._add_operators(child, before, number, written, ()) for child in node.children]
        if isinstance(plan, ExchangeRead) and plan.exchange_id in written:
            writer, stage = written[plan.exchange_id]
            if stage.fragment is not None:
                root, others = measured_operators(stage, stage.fragment)
                children.append(self._add_operators(root, before, writer, written, others))
        if (computed := self._tables.get(_read_table(plan))) is not None:
            children.append(computed)
        return number_of_it

    def _label(self, plan: PhysicalPlan) -> str:
        label = plan.label
        if self._most_label is None or len(label) <= self._most_label:
            return label
        return f"{label[: self._most_label]}…"

    def _notes(self, plan: PhysicalPlan) -> list[str]:
        match plan:
            case BlockScan() if self._most_label is None:
                return block_notes(plan)
            case FileScan():
                return [f"{format_bytes(plan.splits.size_bytes)} of files"]
        return []


def _read_table(plan: PhysicalPlan) -> str:
    """Return the name of the table that a scan reads; "" for any other operator."""
    match plan:
        case BlockScan(table_name=name):
            return name
        case ValuesScan(reason=reason):
            # The reason begins with the name of a table without rows.
            return reason.partition(":")[0]
    return ""


def _load(load: TableLoad) -> Facts:
    return {
        "table": load.table,
        "started": _time_text(datetime.fromtimestamp(load.started, UTC)),
        "seconds": _rounded(load.seconds),
        "blocks": load.blocks,
    }


def _stage(number: int, stage: StageProfile) -> Facts:
    return {
        "number": number,
        "label": stage.label,
        "placement": stage.placement,
        "tasks": stage.num_tasks,
        "rows_in": stage.rows_in,
        "rows_out": stage.rows_out,
        "bytes_out": stage.bytes_out,
        "started": _time_text(datetime.fromtimestamp(stage.started, UTC)),
        "seconds": _rounded(stage.seconds),
        "task_seconds": _rounded(stage.task_seconds),
        "exchange": stage.exchange_id,
        "bucket_bytes": stage.bytes_per_bucket,
        "cpu_seconds_per_task": [_rounded(one) for one in stage.cpu_seconds_per_task if stage.placement != "driver"],
        "rows_per_task": stage.rows_per_task,
        "blocks_rebuilt": stage.blocks_rebuilt,
        "requests": stage.requested.requests,
        "repairs": stage.repairs,
        **_task_runs(stage),
    }


def _task_runs(stage: StageProfile) -> Facts:
    """Return when and where the stage's tasks ran, in task order. Starts are in seconds after the stage's start.

    The lists are empty in the driver, and if the stage has too many tasks. Each task names its worker by its place in
    `workers`.
    """
    runs = stage.task_runs if len(stage.task_runs) <= _MOST_TASKS else ()
    workers = {name: place for place, name in enumerate(dict.fromkeys(run.worker for run in runs))}
    return {
        "workers": list(workers),
        "worker_per_task": [workers[run.worker] for run in runs],
        "started_per_task": [round(run.started - stage.started, 4) for run in runs],
        "seconds_per_task": [round(run.seconds, 4) for run in runs],
        "attempts_per_task": [run.attempt for run in runs] if any(run.attempt for run in runs) else [],
        "spilled_per_task": [run.bytes_spilled for run in runs] if any(run.bytes_spilled for run in runs) else [],
    }


def _decision(decision: Decision) -> Facts:
    when = "planning" if decision.is_planned else "run time"
    return {"when": when, "text": decision.text, "figures": dict(decision.figures)}


def _time_text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)


def _text(facts: Facts) -> str:
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"))

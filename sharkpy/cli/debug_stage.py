"""`sharkpy debug-stage`: record the stages of statements, list them, and run a single one again."""

from __future__ import annotations

import argparse
import pdb
import sys
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import settings
from sharkpy.base.errors import ExecutionError, SharkError
from sharkpy.cli.shell_session import session_settings
from sharkpy.execution.stages.stage_record import StageFacts, recorded_stages
from sharkpy.execution.workers.worker_environment import version_differences

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_ROWS = 10


def run_debug_stage(options: argparse.Namespace) -> int:
    """Run `sharkpy debug-stage` and return the exit code: 1 if the task fails."""
    if options.record is not None:
        return _record(options)
    stages = recorded_stages(options.folder)
    failed = [facts for facts in stages if facts.error is not None]
    if options.stage is None and not failed:
        return _list(stages, options.folder)
    facts = failed[-1] if options.stage is None else _stage(stages, options.stage)
    if options.sql:
        sys.stdout.write(facts.sql + "\n")
        return 0
    return _rerun(facts, options)


def _record(options: argparse.Namespace) -> int:
    from sharkpy.cli.shell_session import LocalNames
    from sharkpy.cli.statement_shell import run_script
    from sharkpy.session.connect import connect

    values = {**session_settings(options), settings.DEBUG_RECORD.key: str(options.folder.absolute())}
    with connect(options.master, options.warehouse, **values) as session:
        code = run_script(session, LocalNames(session), options.record, options.format)
    if not options.folder.is_dir():
        if code:
            return code
        raise ExecutionError("no stage ran", hint="rows that are constants or statistics are answered without one")
    _list(recorded_stages(options.folder), options.folder)
    return code


def _list(stages: list[StageFacts], folder: Path) -> int:
    if not stages:
        raise ExecutionError(f'"{folder}" has no recorded stages', hint=f"set {settings.DEBUG_RECORD.key} to it")
    for facts in stages:
        rows = f"{sum(one.rows_in for one in facts.outcomes):,} → {sum(one.rows_out for one in facts.outcomes):,} rows"
        end = f"FAILED: {facts.error}" if facts.error else rows
        sys.stdout.write(f"{facts.number:>4}  {_tasks(facts):<20} {end:<24}  {facts.label}\n")
    sys.stdout.write(f"run one again: sharkpy debug-stage {folder} --stage N\n")
    return 0


def _stage(stages: list[StageFacts], number: int) -> StageFacts:
    for facts in stages:
        if facts.number == number:
            return facts
    known = f"stages 1 to {stages[-1].number} are" if stages else "nothing is"
    raise ExecutionError(f"there is no recorded stage {number}", hint=f"{known} on record")


def _tasks(facts: StageFacts) -> str:
    tasks = f"{facts.num_tasks} {'task' if facts.num_tasks == 1 else 'tasks'}"
    return f"{tasks} {'in the driver' if facts.placement == 'driver' else 'on RDDs'}"


def _rerun(facts: StageFacts, options: argparse.Namespace) -> int:
    from sharkpy.execution.stages.stage_record import rerun_task
    from sharkpy.session.output_formats import write_table

    task = _task(facts) if options.task is None else options.task
    if not 0 <= task < facts.num_tasks:
        raise ExecutionError(f"stage {facts.number} has no task {task}", hint=f"it has {_tasks(facts)}")
    for misfit in version_differences(facts.versions, "the record"):
        sys.stdout.write(f"recorded with other versions: {misfit}\n")
    sys.stdout.write(f"stage {facts.number}, {facts.label}: task {task} of {_tasks(facts)}\n")
    sys.stdout.write((facts.sql or "(rows are handed on as they are)") + "\n\n")
    try:
        rerun = rerun_task(options.folder, facts.number, task, options.block, _stop if options.pdb else lambda: None)
    except SharkError as error:
        traceback.print_exception(error.__cause__ or error)
        sys.stdout.write(f"the task fails: {error}\n")
        return 1
    then = next((one for one in facts.outcomes if one.task == task), None)
    sys.stdout.write(f"rows in {rerun.rows_in:,}, rows out {rerun.rows_out:,}, {rerun.seconds * 1e3:.1f} ms\n")
    if then is not None and options.block is None and (facts.placement == "rdd" or facts.num_tasks == 1):
        recorded = f"on record: rows in {then.rows_in:,}, rows out {then.rows_out:,}, {then.seconds * 1e3:.1f} ms"
        sys.stdout.write(recorded + (f"; failed: {then.error}" if then.error else "") + "\n")
    write_table(sys.stdout, rerun.schema, _first(rerun.batches))
    return 0


def _task(facts: StageFacts) -> int:
    return next((one.task for one in facts.outcomes if one.error is not None), 0)


def _first(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    left = FIRST_ROWS
    for batch in batches:
        if left > 0:
            yield batch.slice(0, left)
            left -= batch.num_rows


def _stop() -> None:
    """Stop in the debugger, in the frame with the task's `program` and `data`."""
    pdb.Pdb(nosigint=True).set_trace(sys._getframe(1))

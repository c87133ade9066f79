"""EXPLAIN: the optimised logical plan and the physical plan; EXPLAIN ANALYZE: what running it showed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sharkpy.columnar.store import open_block
from sharkpy.commands import Command, Explain
from sharkpy.execution.commands.result import CommandResult, text_rows
from sharkpy.logical import LogicalPlan
from sharkpy.physical.operators import BlockScan, FileScan

if TYPE_CHECKING:
    from sharkpy.execution.profile import QueryProfile, StageProfile
    from sharkpy.physical.plan import PhysicalPlan
    from sharkpy.session import SharkContext

ENCODING_BLOCKS = 16
"""Encodings are read from so many blocks of a scan at most."""


def explain(command: Explain, context: SharkContext) -> CommandResult:
    """One column, `plan`, a line a row."""
    plan, header = _plan_of(command.statement)
    lines = list(header)
    if plan is None:
        return text_rows(("plan",), [(line,) for line in lines])
    if command.extended:
        lines += ["== Bound plan ==", *plan.explain().splitlines(), ""]
    optimized, physical = context.plan_steps(plan)
    lines += ["== Logical plan ==", *optimized.explain().splitlines(), "", "== Physical plan =="]
    lines += physical.explain().splitlines()
    if command.analyze:
        lines += ["", *_analyze(command.statement, physical, context)]
    return text_rows(("plan",), [(line,) for line in lines])


def _plan_of(statement: LogicalPlan | Command) -> tuple[LogicalPlan | None, tuple[str, ...]]:
    """The query in a statement, and the line of the command around it."""
    if isinstance(statement, LogicalPlan):
        return statement, ()
    query = getattr(statement, "query", None)
    return query, (f"== {type(statement).__name__} ==",)


def _analyze(statement: LogicalPlan | Command, physical: PhysicalPlan, context: SharkContext) -> list[str]:
    started = time.perf_counter()
    with context.observed_profiles() as profiles:
        rows = _run(statement, physical, context)
    seconds = time.perf_counter() - started
    lines = [f"== Run: {rows} in {_milliseconds(seconds)} =="]
    for scan in _scans(physical):
        lines += _scan_lines(scan)
    for profile in profiles:
        lines += _profile_lines(profile)
    return lines


def _run(statement: LogicalPlan | Command, physical: PhysicalPlan, context: SharkContext) -> str:
    if isinstance(statement, Command):
        from sharkpy.execution.commands.run import run_command

        run_command(statement, context)
        return type(statement).__name__
    runner = context.new_runner(statement.label)
    count = sum(batch.num_rows for batch in context.run_batches(runner, physical))
    return f"{count:,} rows"


def _scans(physical: PhysicalPlan) -> list[BlockScan | FileScan]:
    return [node for node in physical.walk() if isinstance(node, (BlockScan, FileScan))]


def _scan_lines(scan: BlockScan | FileScan) -> list[str]:
    if isinstance(scan, FileScan):
        size = _bytes(scan.splits.size_bytes)
        return [f"scan {scan.table_name}: {len(scan.splits.splits)} file splits, {size}"]
    blocks = scan.blocks
    pruned = blocks.num_blocks - blocks.num_kept
    lines = [
        f"scan {scan.table_name}: {blocks.num_kept} blocks kept, {pruned} pruned; {blocks.num_rows:,} rows, "
        f"{_bytes(blocks.column_bytes(scan.names))} encoded"
    ]
    encodings: dict[str, set[str]] = {name: set() for name in scan.names}
    for handle in blocks.blocks[:ENCODING_BLOCKS]:
        for name, encoding in open_block(handle).encodings().items():
            if name in encodings:
                encodings[name].add(encoding)
    if encodings:
        texts = [f"{name} {'/'.join(sorted(used))}" for name, used in encodings.items()]
        lines.append("  encodings: " + ", ".join(texts))
    return lines


def _profile_lines(profile: QueryProfile) -> list[str]:
    lines = [_stage_line(number, stage) for number, stage in enumerate(profile.stages, 1)]
    lines += [f"decision: {decision}" for decision in profile.decisions]
    if profile.decisions and profile.physical:
        lines += ["plan as it was run:", *("  " + line for line in profile.physical.splitlines())]
    return lines


def _stage_line(number: int, stage: StageProfile) -> str:
    tasks = f"{stage.num_tasks} task{'' if stage.num_tasks == 1 else 's'}"
    place = "the driver" if stage.placement == "driver" else "RDD tasks"
    line = (
        f"stage {number} in {place}: {stage.label.split(' ')[0]}, "
        f"{tasks}, {stage.rows_in:,} rows in, {stage.rows_out:,} rows out, {_bytes(stage.bytes_out)} out, "
        f"{_milliseconds(stage.seconds)} ({_milliseconds(stage.task_seconds)} in tasks)"
    )
    if stage.bytes_per_bucket:
        line += f"; buckets of {_bytes(min(stage.bytes_per_bucket))} to {_bytes(max(stage.bytes_per_bucket))}"
    if stage.malformed_fields or stage.malformed_lines:
        line += f"; {stage.malformed_lines} malformed lines, {stage.malformed_fields} malformed fields"
    return line


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _bytes(size: int) -> str:
    if size >= 1 << 20:
        return f"{size / (1 << 20):.1f} MB"
    return f"{size / 1024:.1f} kB" if size >= 1024 else f"{size} B"

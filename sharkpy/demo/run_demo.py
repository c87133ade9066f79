"""`sharkpy demo`: load, cache and query tables, and show the time of each step."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import settings
from sharkpy.base.errors import ConfigurationError
from sharkpy.catalog.path_gate import local_path
from sharkpy.demo.flights_data import write_files
from sharkpy.demo.live import show_stream
from sharkpy.demo.tables import create_tables, memory_figures
from sharkpy.demo.tour import RDD_STEPS, STEPS, Step
from sharkpy.execution.queries.plan_query import bind_text, plan_query
from sharkpy.execution.stages.profile import format_bytes, format_seconds
from sharkpy.session.output_formats import write_lines, write_table

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

BLOCK_ROWS = 25_000
"""Rows of a block, few so that pruning has something to do on 336,776 rows."""


def default_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "sharkpy" / "demo"


def run_demo(warehouse: str | None, master: str) -> int:
    """Run the demo and return the exit code."""
    from sharkpy.session.connect import connect

    started = time.perf_counter()
    folder = Path(local_path(warehouse)) if warehouse else default_folder()
    files = folder.absolute() / "files"
    _say(f"sharkpy demo: the flights out of New York in 2013, in {folder}")
    write_files(files)
    with connect(master, folder / "warehouse", **{settings.BLOCK_ROWS.key: BLOCK_ROWS}) as session:
        create_tables(session, files)
        _show_memory(session, files)
        for step in STEPS:
            _show(session, step)
        show_stream(session, folder.absolute() / "departures", _say)
        code = _show_rdd(session)
    _say(f"\nThe whole tour took {time.perf_counter() - started:.1f} s. Go on yourself:")
    _say(f"  sharkpy --warehouse {folder / 'warehouse'}")
    return code


def _show_rdd(session: SharkContext) -> int:
    try:
        for step in RDD_STEPS:
            _show(session, step)
    except ConfigurationError as error:
        _say(f"RDD tasks need Spark, which did not start: {error}")
        return 1
    return 0


def _show_memory(session: SharkContext, files: Path) -> None:
    started = time.perf_counter()
    figures = memory_figures(session, files)
    seconds = time.perf_counter() - started
    _say(f"\nIn the memory store after {seconds:.2f} s (from files at the first run, mapped back at the next):")
    for name, rows, blocks, raw, encoded in figures:
        sizes = f"{format_bytes(raw):>8} of files, {format_bytes(encoded):>8} in memory"
        # Most of the memory of small files is statistics.
        share = f" ({encoded / raw:.0%})" if raw >= 1 << 20 else ""
        _say(f"  {name:<9}{rows:>8,} rows in {blocks:>2} block{'s' if blocks != 1 else ' '} {sizes}{share}")


def _show(session: SharkContext, step: Step) -> None:
    _say(f"\n-- {step.title}")
    _say(step.sql + ";")
    pruned = _pruning(session, step.sql)
    started = time.perf_counter()
    with session.sql(step.sql) as result:
        batches = list(result.batches())
        seconds = time.perf_counter() - started
        if result.is_text:
            write_lines(sys.stdout, result.schema, batches)
        elif result.columns:
            write_table(sys.stdout, result.schema, batches)
    _say(f"{format_seconds(seconds)}{pruned}")


def _pruning(session: SharkContext, sql: str) -> str:
    """Return a text with the number of blocks of the query's tables that remain after pruning."""
    from sharkpy.physical.operators import BlockScan
    from sharkpy.plan.logical import LogicalPlan
    from sharkpy.sql.grammar.split_statements import split_statements

    if len(split_statements(sql)) != 1:
        return ""
    statement = bind_text(session, sql)
    if not isinstance(statement, LogicalPlan):
        return ""
    scans = [node.blocks for node in plan_query(session, statement).root.walk() if isinstance(node, BlockScan)]
    if not scans:
        return "; no block was read"
    total, kept = sum(scan.num_blocks for scan in scans), sum(scan.num_kept for scan in scans)
    return f"; {kept} of {total} blocks read, {total - kept} pruned"


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()

"""`sharkpy demo`: load, cache and query tables, show the time of each step, and follow a stream.

In the stream, the departures of a day arrive hour by hour in a folder, and are counted as they arrive.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import settings
from sharkpy.base.errors import ConfigurationError
from sharkpy.catalog.path_gate import local_path
from sharkpy.demo.flights_data import create_tables, memory_figures, write_files
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
        _say(f"  sharkpy console --warehouse {folder / 'warehouse'}")
        if sys.stdin.isatty():
            _show_console(session)
    return code


def _show_console(session: SharkContext) -> None:
    """Serve the console of the demo's session until Enter or Ctrl-C."""
    from sharkpy.web.own_console import own_console

    with own_console(session) as new_link, contextlib.suppress(KeyboardInterrupt):
        _say(f"\nThe console has the queries of the tour, their plans, and a worksheet for yours:\n  {new_link()}")
        _say("Open the link in a browser. Enter ends the demo.")
        sys.stdin.readline()


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


STREAM_STATEMENTS = (
    """\
CREATE STREAM departures (hour INT, carrier STRING, flight INT, dest STRING, dep_delay INT)
STORED AS JSONFILE FROM FOLDER '{folder}'""",
    """\
CREATE CONTINUOUS TABLE departed TBLPROPERTIES ('shark.cache' = 'MEMORY')
AS SELECT d.hour, a.name AS airline, d.dest, d.dep_delay
FROM departures d JOIN airlines a ON d.carrier = a.carrier""",
)
_STREAM_QUERY = """\
SELECT airline, count(*) AS flights, round(avg(dep_delay), 1) AS mean_delay
FROM departed GROUP BY airline ORDER BY flights DESC LIMIT 1"""
_DAY = "SELECT hour, carrier, flight, dest, dep_delay FROM flights WHERE month = 7 AND day = 4 ORDER BY hour, flight"
_SECONDS = 20.0


def show_stream(session: SharkContext, folder: Path, say: Callable[[str], None]) -> None:
    """Create the stream again in `folder`, and let the flights of a day arrive."""
    for kind, name in (("CONTINUOUS TABLE", "departed"), ("STREAM", "departures")):
        session.sql(f"DROP {kind} IF EXISTS {name}").close()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    say("\n-- A stream: the flights of the 4th of July come hour by hour; a table is kept up to date with them")
    for statement in STREAM_STATEMENTS:
        text = statement.format(folder=folder)
        say(f"{text};")
        session.sql(text).close()
    say(f"\n-- and beside it, each hour, a query\n{_STREAM_QUERY};")
    say(f"{'hour':<6}{'flights':>8}  {'visible after':<15}most flights")
    total = 0
    for hour, flights in _hours(session):
        total += len(flights)
        say(f"{hour:02}:00 {_arrival_line(session, folder, hour, flights, total)}")


def _hours(session: SharkContext) -> Iterator[tuple[int, list[dict[str, object]]]]:
    """Flights of the day, by hour."""
    rows = session.sql(_DAY).to_arrow().to_pylist()
    for hour in dict.fromkeys(row["hour"] for row in rows):
        yield hour, [row for row in rows if row["hour"] == hour]


def _arrival_line(session: SharkContext, folder: Path, hour: int, flights: list[dict[str, object]], total: int) -> str:
    """Let the flights of an hour arrive. Return a line with the hour, the result, and the time that it took."""
    hidden = folder / f".{hour:02}.json"
    hidden.write_text("".join(f"{json.dumps(row)}\n" for row in flights), encoding="utf-8")
    began = time.perf_counter()
    hidden.rename(folder / f"{hour:02}.json")
    while (seen := session.sql("SELECT count(*) FROM departed").fetchall()[0][0]) < total:
        if time.perf_counter() - began > _SECONDS:
            return f"{seen:>8,}  not all after {_SECONDS:g} s"
        time.sleep(0.001)
    seconds = time.perf_counter() - began
    ((airline, count, delay),) = session.sql(_STREAM_QUERY).fetchall()
    return f"{seen:>8,}  {format_seconds(seconds):<15}{airline}: {count}, {delay} minutes late on average"

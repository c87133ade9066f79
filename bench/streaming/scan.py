"""Scan of a table that grew by small appends, compared with the same rows in a table that was loaded at once."""

from __future__ import annotations

import statistics
import time

import sharkpy
from bench.figure import Figure, comparison

MOST = 1.2
_SCANS = 20
"""Scans of a run: they take milliseconds."""


def scan_figure(context: sharkpy.SharkContext, table: str, what: str, runs: int) -> Figure:
    """Medians of a scan of the table after `what`; the columns of the table are k, g and s."""
    loaded = f"{table}_at_once"
    made = f"CREATE TABLE {loaded} TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT * FROM {table}"
    context.sql(made).close()
    found: dict[str, list[float]] = {table: [], loaded: []}
    for _ in range(1 + runs * _SCANS):
        for name, seconds in found.items():
            start = time.perf_counter()
            context.sql(f"SELECT g, count(*), sum(k), max(s) FROM {name} GROUP BY g").fetchall()
            seconds.append(time.perf_counter() - start)
    grown, at_once = (statistics.median(seconds[1:]) for seconds in found.values())
    aims = (f"at most {MOST:g} times", grown <= MOST * at_once)
    return comparison(f"scan after {what}", "ms", grown * 1000, {"a table loaded at once": at_once * 1000}, *aims)

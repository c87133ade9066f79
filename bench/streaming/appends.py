"""Many small appends to one table: 2,000 rows at a time, each followed by a query; the last ones beside the first,
and at the end a scan beside that of a table loaded at once.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import sharkpy
from bench.pde import Figure
from bench.streaming.scan import scan_figure

APPENDS = int(os.environ.get("SHARKPY_APPENDS", "2500"))
"""Appends to each table: 2,500 take minutes; 100,000 are for a night."""
MOST = 1.5
_SETTLED, _MEASURED = 10, 30
"""The first appends load code and start threads; so many behind them, and at the end, are measured."""
_ROWS = "SELECT id AS k, id % 7 AS g, concat('text ', id % 100) AS s FROM source"
_QUERY = "SELECT g, count(*), sum(k) FROM t GROUP BY g ORDER BY g"
_TABLES = (
    ("files and memory", "TBLPROPERTIES ('shark.cache' = 'MEMORY')"),
    ("memory alone", "TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY')"),
)


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    number = max(_SETTLED + 2 * _MEASURED, int(APPENDS * scale))
    return [figure for what, properties in _TABLES for figure in _appended(what, properties, number, runs)]


def _appended(what: str, properties: str, number: int, runs: int) -> list[Figure]:
    with (
        tempfile.TemporaryDirectory(prefix="appends-") as folder,
        sharkpy.connect("local[2]", folder) as context,
    ):
        source = "(SELECT explode(sequence(1, 2000)) AS id) x"
        context.sql(f"CREATE TABLE source TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT id FROM {source}").close()
        context.sql(f"CREATE TABLE t {properties} AS {_ROWS}").close()
        appends: list[float] = []
        queries: list[float] = []
        for _ in range(number):
            appends.append(_seconds(lambda: context.sql(f"INSERT INTO t {_ROWS}").close()))
            queries.append(_seconds(lambda: context.sql(_QUERY).fetchall()))
        location = context.catalog.table("default", "t").location
        files = sum(path.is_file() for path in Path(location).rglob("*")) if location else 0
        scanned = replace(scan_figure(context, "t", runs), what=f"scan, {what}")
    figures = [*_figures(f"append, {what}", appends), *_figures(f"query after it, {what}", queries), scanned]
    return [*figures, Figure(f"files, {what}", str(files))] if location else figures


def _figures(what: str, seconds: list[float]) -> list[Figure]:
    first = statistics.median(seconds[_SETTLED : _SETTLED + _MEASURED])
    last = statistics.median(seconds[-_MEASURED:])
    ratio = last / first
    return [
        Figure(f"{what}, the {_SETTLED}th", f"{first * 1000:.1f} ms"),
        Figure(f"{what}, the {len(seconds):,}th", f"{last * 1000:.1f} ms"),
        Figure(f"{what}, ratio", f"{ratio:.2f}", f"{MOST} at most", ratio <= MOST),
    ]


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start

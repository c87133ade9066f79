"""Many small appends to one table, 2,000 rows at a time. The times of an append, of a query of all rows after it, and
of a query of the newest rows are compared with the times after the first appends. At the end, a scan is compared with a
scan of a table that was loaded at once.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

import sharkpy
from bench.figure import Figure
from bench.streaming.scan import scan_figure

APPENDS = int(os.environ.get("SHARKPY_APPENDS", "2500"))
"""Appends to each table: 2,500 take minutes; 100,000 take hours."""
MOST = 1.5
_FIRST, _MEASURED = 10, 30
"""The first appends load code and start threads. Some appends are measured after them, and after each tenfold number.
"""
_NEWEST = 10
"""Appends whose rows the query of the newest ones counts."""
_ROWS = "SELECT id AS k, id % 7 AS g, concat('text ', id % 100) AS s, current_timestamp() AS at FROM source"
_QUERY = "SELECT g, count(*), sum(k) FROM t{} GROUP BY g ORDER BY g"
_TABLES = (
    ("files and memory", "TBLPROPERTIES ('shark.cache' = 'MEMORY')"),
    ("memory alone", "TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY')"),
)


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    number = max(_FIRST + 2 * _MEASURED, int(APPENDS * scale))
    return [figure for what, properties in _TABLES for figure in _appended(what, properties, number, runs)]


def _appended(what: str, properties: str, number: int, runs: int) -> list[Figure]:
    with (
        tempfile.TemporaryDirectory(prefix="appends-") as folder,
        sharkpy.connect("local[2]", folder) as context,
    ):
        source = "(SELECT explode(sequence(1, 2000)) AS id) x"
        context.sql(f"CREATE TABLE source TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT id FROM {source}").close()
        context.sql(f"CREATE TABLE t {properties} AS {_ROWS}").close()
        points = []
        done = 0
        for begin in _begins(number):
            for _ in range(done, begin):
                _append(context)
            points.append((begin, _Point.measured(context)))
            done = begin + _MEASURED
        location = context.catalog.table("default", "t").location
        files = sum(path.is_file() for path in Path(location).rglob("*")) if location else 0
        process = psutil.Process()
        sizes = f"{process.memory_info().rss / 1e6:.0f} MB of memory, {process.num_fds()} open files, {files} files"
        scanned = scan_figure(context, "t", f"{number:,} appends, {what}", runs)
    figures = [
        figure
        for name, of in (
            (f"append, {what}", lambda point: point.append),
            (f"query after it, {what}", lambda point: point.query),
            (f"query of the last {_NEWEST} appends, {what}", lambda point: point.newest),
        )
        for figure in _figures(name, [(begin, of(point)) for begin, point in points], is_key=what == _TABLES[0][0])
    ]
    return [*figures, scanned, Figure(f"after {number:,} appends, {what}", sizes)]


def _begins(number: int) -> list[int]:
    """Numbers of appends after which a measurement begins; the last measurement ends with append `number`."""
    last = number - _MEASURED
    begins = [_FIRST]
    while 10 * begins[-1] + _MEASURED < last:
        begins.append(10 * begins[-1])
    return [*begins, last]


@dataclass(frozen=True, slots=True)
class _Point:
    """Medians of some appends and of the queries after them, in seconds."""

    append: float
    query: float
    newest: float

    @staticmethod
    def measured(context: sharkpy.SharkContext) -> _Point:
        appends: list[float] = []
        queries: list[float] = []
        newest: list[float] = []
        begins = []
        for _ in range(_MEASURED):
            begins.append(datetime.now(UTC))
            appends.append(_seconds(lambda: _append(context)))
            queries.append(_seconds(lambda: context.sql(_QUERY.format("")).fetchall()))
            since = begins[-_NEWEST:][0]
            text = _QUERY.format(f" WHERE at >= TIMESTAMP '{since:%Y-%m-%d %H:%M:%S.%f}'")
            start = time.perf_counter()
            found = context.sql(text).fetchall()
            newest.append(time.perf_counter() - start)
            if sum(row[1] for row in found) != 2000 * len(begins[-_NEWEST:]):
                raise AssertionError(f"not the rows of the last appends: {found}")
        return _Point(*(statistics.median(seconds) for seconds in (appends, queries, newest)))


def _append(context: sharkpy.SharkContext) -> None:
    context.sql(f"INSERT INTO t {_ROWS}").close()


def _figures(what: str, points: list[tuple[int, float]], *, is_key: bool) -> list[Figure]:
    (_, first), *_between, (_, last) = points
    ratio = last / first
    return [
        *(Figure(f"{what}, behind {begin:,}", f"{seconds * 1000:.1f} ms") for begin, seconds in points),
        Figure(f"{what}, the last over the first", f"{ratio:.2f}", f"{MOST} at most", ratio <= MOST, is_key=is_key),
    ]


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start

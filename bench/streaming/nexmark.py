"""Nexmark: seconds in which each of its queries works off a backlog of events, in two epochs, as a continuous table in
memory whose answer is read. Compared with the same query over all events at once.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import sharkpy
from bench.engines import CORES
from bench.figure import Figure, comparison, geometric_mean
from bench.streaming.auctions import write_events
from bench.streaming.nexmark_queries import Query, make_streams, queries
from bench.suites import CACHE
from sharkpy.values.types import BIGINT

EVENTS = 1_000_000
_TABLE = "TBLPROPERTIES ('shark.cache' = 'MEMORY') TRIGGER AVAILABLE NOW"


def measure(runs: int, scale: float = 1.0) -> list[Figure]:  # noqa: ARG001  a backlog is worked off once
    events = max(2_000, int(EVENTS * scale))
    with (
        tempfile.TemporaryDirectory(dir=CACHE) as folder,
        sharkpy.connect(f"local[{CORES}]", f"{folder}/warehouse") as context,
    ):
        make_streams(context, Path(folder, "events"))
        write_events(Path(folder, "events"), 0, events // 2)
        found = queries()
        seconds = [_seconds(context, f"CREATE CONTINUOUS TABLE {_head(one)} AS {one.text}") for one in found]
        write_events(Path(folder, "events"), events // 2, events)
        kept, at_once = [], []
        for one, first in zip(found, seconds, strict=True):
            resumed = first + _seconds(context, f"RESUME CONTINUOUS TABLE {one.name}")
            own, batch = _asked(context, one)
            kept.append(events / (resumed + own) / 1e6)
            at_once.append(events / batch / 1e6)
    figures = [_figure(one.name, rate, batch) for one, rate, batch in zip(found, kept, at_once, strict=True)]
    what = f"geometric mean of {len(found)} queries"
    return [*figures, _figure(what, geometric_mean(kept), geometric_mean(at_once), is_key=True)]


def _head(one: Query) -> str:
    return f"{one.name} {one.clauses} {_TABLE}"


def _figure(what: str, kept: float, at_once: float, *, is_key: bool = False) -> Figure:
    return comparison(what, "M events/s", kept, {"the query over all events at once": at_once}, is_key=is_key)


def _asked(context: sharkpy.SharkContext, one: Query) -> tuple[float, float]:
    """Seconds until the answer was read, and seconds of the query over all events."""
    start = time.perf_counter()
    kept = _checks(context, one.answer)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    batch = _checks(context, one.batch)
    at_once = time.perf_counter() - start
    if kept != batch:
        raise AssertionError(f"{one.name}: {kept} of the stream, {batch} of all events")
    return seconds, at_once


def _checks(context: sharkpy.SharkContext, text: str) -> tuple[object, ...]:
    """Number of rows, and sums and largest values of their columns."""
    schema = context.sql(f"SELECT * FROM ({text}) x LIMIT 0").schema
    values = ", ".join(f"{'sum' if one.dtype == BIGINT else 'max'}(`{one.name}`)" for one in schema)
    (row,) = context.sql(f"SELECT count(*), {values} FROM ({text}) x").fetchall()
    return tuple(row)


def _seconds(context: sharkpy.SharkContext, text: str) -> float:
    start = time.perf_counter()
    context.sql(text).close()
    return time.perf_counter() - start

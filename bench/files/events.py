"""JSONBench's questions over nested JSON lines without a schema, compared with DuckDB's own reader."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb

import sharkpy
from bench.engines import CORES
from bench.figure import Figure
from bench.files import scans
from bench.files.event_data import queries, write_events
from bench.suites import CACHE

EVENTS = 500_000
MOST = 10.0


def measure(runs: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        path = Path(folder, "events.jsonl")
        write_events(path, EVENTS)
        with sharkpy.connect(f"local[{CORES}]", Path(folder, "w")) as context:
            ours, answers = scans.timed(lambda query: context.sql(query).to_arrow(), runs, queries(f"'{path}'", 0))
        with duckdb.connect(config={"threads": CORES}) as connection:
            named = queries(f"read_json('{path}')", 1)
            theirs, expected = scans.timed(lambda query: connection.sql(query).to_arrow_table(), runs, named)
    scans.check_equal(answers, expected, "DuckDB")
    return scans.against_duckdb("queries over nested JSON files", ours, theirs, MOST)

"""JSONBench's questions over nested JSON lines that nobody has described, beside DuckDB's own reader of them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb

import sharkpy
from bench.engines import CORES
from bench.files import scans
from bench.files.event_data import queries, write_events
from bench.pde import Figure
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
    ratios = {name: ours[name] / theirs[name] for name in ours}
    figures = [
        Figure(f"{name}: time of DuckDB's", f"{ratio:.2f} times: {ours[name]:.2f} s, DuckDB {theirs[name]:.2f} s")
        for name, ratio in ratios.items()
    ]
    mean = scans.geometric_mean(list(ratios.values()))
    return [*figures, Figure("geometric mean", f"{mean:.2f} times", f"at most {MOST:g} times", mean <= MOST)]

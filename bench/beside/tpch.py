"""The 22 queries of TPC-H over cached tables, warm."""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

from bench.beside.pairs import figure, in_turn, run
from bench.figure import Figure, geometric_mean
from bench.suites import SUITES

_PROGRAM = """
import json, statistics, sys, tempfile, time
import sharkpy

tables, queries = json.load(open(sys.argv[1]))
with tempfile.TemporaryDirectory(dir=sys.argv[2]) as folder:
    with sharkpy.connect("local[2]", folder, **{"shark.temp.dir": folder}) as context:
        start = time.perf_counter()
        for statement in tables:
            context.sql(statement).close()
        figures = {"load": time.perf_counter() - start}
        for name, text in queries.items():
            times = []
            for _ in range(6):
                start = time.perf_counter()
                context.sql(text).to_arrow()
                times.append(time.perf_counter() - start)
            figures[name] = statistics.median(times[1:])
        print(json.dumps(figures))
"""


def measure(runs: int, scale: float, checkout: Path) -> list[Figure]:
    suite = SUITES["tpch"]
    data = suite.data(scale)
    with tempfile.TemporaryDirectory(prefix="sharkpy-bench-beside-", dir=data.parent) as folder:
        program = Path(folder, "suite.json")
        tables = [text for table in suite.tables for text in _statements(table, data / table)]
        program.write_text(json.dumps([tables, suite.queries(None)]))
        pairs = in_turn(runs, checkout, partial(_figures, program))
    names = [name for name in pairs[0][0] if name != "load"]
    means = [tuple(1000 * geometric_mean([side[name] for name in names]) for side in pair) for pair in pairs]
    sums = [tuple(1000 * sum(side[name] for name in names) for side in pair) for pair in pairs]
    return [
        figure(f"TPC-H at scale {scale:g}: geometric mean of {len(names)} warm queries", means, "ms"),
        figure("their sum", sums, "ms"),
        figure("loading all tables", [(a["load"], b["load"]) for a, b in pairs], "s"),
    ]


def _statements(table: str, folder: Path) -> list[str]:
    from sharkpy.values.types import from_arrow

    schema = pq.read_schema(next(folder.glob("*.parquet")))
    columns = ", ".join(f"`{field.name}` {from_arrow(field.type)}" for field in schema)
    return [
        f"CREATE EXTERNAL TABLE {table} ({columns}) STORED AS PARQUET LOCATION '{folder}'",
        f"CACHE TABLE {table}",
    ]


def _figures(program: Path, checkout: Path) -> dict[str, float]:
    found: dict[str, float] = json.loads(run(checkout, "-c", _PROGRAM, str(program), str(program.parent)))
    return found

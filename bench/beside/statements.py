"""Small statements in a session of one process: a text that comes again, and new ones."""

from __future__ import annotations

from pathlib import Path

from bench.beside.pairs import program_figures
from bench.figure import Figure

_PROGRAM = """
import json, statistics, tempfile, time
import sharkpy

def median_us(texts):
    times = []
    for text in texts:
        start = time.perf_counter()
        context.sql(text).fetchall()
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)

with tempfile.TemporaryDirectory() as folder, sharkpy.connect("local[2]", folder) as context:
    context.sql("CREATE TABLE t TBLPROPERTIES ('shark.cache'='MEMORY') AS SELECT explode(sequence(1, 1000)) AS a")
    context.sql("SELECT sum(a) FROM t").fetchall()
    figures = {
        "`SELECT 1` again": ["SELECT 1"] * 500,
        "`SELECT sum(a) FROM t` again": ["SELECT sum(a) FROM t"] * 300,
        "`SELECT sum(a + n) FROM t`, a new text each time": [f"SELECT sum(a + {n}) FROM t" for n in range(100)],
        "`SHOW TABLES`": ["SHOW TABLES"] * 200,
        "INSERT of one row": ["INSERT INTO t VALUES (1)"] * 30,
    }
    print(json.dumps({what: median_us(texts) for what, texts in figures.items()}))
"""
_LEAST_RUNS = 5


def measure(runs: int, scale: float, checkout: Path) -> list[Figure]:  # noqa: ARG001 - the table is small
    return program_figures(_PROGRAM, max(runs, _LEAST_RUNS), checkout)

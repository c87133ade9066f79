"""Small figures: the cost of a pruned query, of an RDD job, of a start, and of users' functions."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from bench import row_set_figures, store_figures
from bench.figure import Figure, comparison
from bench.suites import SUITES

TARGETS_MS = {
    "pruned to one block": 20.0,
    "answer from statistics": 20.0,
    "two-task RDD job": 25.0,
    "shell start": 1000.0,
}
ROWS, BLOCKS = 2_000_000, 100
CALLS = 5_000_000
ROW_NAMES = ("measure", "case")
RDD_SETTINGS = ("shark.placement.driver=false", "shark.task.single.max.rows=0", "shark.task.single.max.bytes=0")
JVM_WARM_UP = 150
"""Number of jobs after which the JVM has compiled the code of a job."""


def run_micro(runs: int) -> dict[str, list[Figure]]:
    """Figures by measurement; figures of statements are medians."""
    found = {**_queries(max(runs, 20)), "shell start": _median(_start_shell, 5)}
    statements = [
        Figure(name, f"{value:.1f} ms", f"at most {TARGETS_MS[name]:.0f} ms", value <= TARGETS_MS[name], is_key=True)
        for name, value in found.items()
    ]
    lineitem = next((SUITES["tpch"].data(1.0) / "lineitem").glob("*.parquet"))
    store = [Figure(f"{row['measure']}, {row['case']}", _text(row)) for row in store_figures.run(str(lineitem))]
    row_sets = [_row_set(row) for row in row_set_figures.run()]
    return {"statements": statements, "functions": _functions(runs), "store": store, "row_sets": row_sets}


def _text(row: store_figures.Row) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in row.items() if key not in ROW_NAMES)


def _row_set(row: row_set_figures.Row) -> Figure:
    ours, by_rows, codec = (float(row[f"{how}ns per value"]) for how in ("", "by rows ", "codec "))
    peers = {"thrift's compiled codec": codec, "by rows": by_rows}
    return comparison(f"a value of a row set, {row['case']}", "ns", ours, peers)


def _queries(repeats: int) -> dict[str, float]:
    import sharkpy

    conf = {"shark.block.rows": ROWS // BLOCKS}
    with (
        tempfile.TemporaryDirectory(prefix="sharkpy-bench-") as folder,
        sharkpy.connect("local[2]", folder, **conf) as context,
    ):
        numbers = "SELECT explode(sequence(0, 1999)) AS n"
        context.sql(
            "CREATE TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') AS "
            f"SELECT a.n * 1000 + b.n AS k, b.n % 7 AS g FROM ({numbers}) a CROSS JOIN ({numbers}) b "
            "WHERE b.n < 1000 ORDER BY k"
        ).close()

        def run(sql: str) -> Callable[[], object]:
            return lambda: context.sql(sql).fetchall()

        one_block = "SELECT g, count(*), sum(k) FROM t WHERE k BETWEEN 1000000 AND 1000500 GROUP BY g"
        pruned = _median(run(one_block), repeats)
        answered = _median(run("SELECT count(*), min(k), max(k) FROM t"), repeats)
        cached = "TBLPROPERTIES ('shark.cache' = 'MEMORY')"
        context.sql(f"CREATE TABLE two {cached} AS SELECT k FROM t WHERE k < 40000").close()
        for setting in RDD_SETTINGS:
            context.sql(f"SET {setting}").close()
        job = _median(run("SELECT k FROM two WHERE k % 20000 = 7"), repeats, JVM_WARM_UP)
        return {"pruned to one block": pruned, "answer from statistics": answered, "two-task RDD job": job}


def _functions(runs: int) -> list[Figure]:
    """Users' functions over 5,000,000 numbers, against the same Python code without a database."""
    import numpy as np

    import sharkpy

    def digits(number: int) -> int:
        return len(str(number))

    def scaled(column: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.sqrt(column) * 2.5 + np.log1p(column)

    integers = np.arange(CALLS, dtype=np.int64)
    reals = integers / 7
    with (
        tempfile.TemporaryDirectory(prefix="sharkpy-bench-") as folder,
        sharkpy.connect("local[2]", folder) as context,
    ):
        context.register_function("digits", sharkpy.function("bigint", returns="bigint", form="row")(digits))
        context.register_function("scaled", sharkpy.function("double", returns="double", compiled=False)(scaled))
        context.sql(
            "CREATE TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') AS "
            f"SELECT id AS n, id / 7 AS x FROM (SELECT explode(sequence(0, {CALLS - 1})) AS id) numbers"
        ).close()
        by_row = _median(lambda: context.sql("SELECT sum(digits(n)) FROM t").fetchall(), runs)
        vectorised = _median(lambda: context.sql("SELECT sum(scaled(x)) FROM t").fetchall(), runs)
    in_python = _median(lambda: sum([digits(number) for number in integers.tolist()]), runs)
    in_numpy = _median(lambda: scaled(reals).sum(), runs)
    return [
        comparison(
            *(f"a function called for each of {CALLS:,} integers", "ms", by_row, {"plain Python": in_python}),
            *("at most 1,500", by_row <= 1500),
        ),
        comparison(
            *(f"a function of NumPy arrays, {CALLS:,} numbers", "ms", vectorised, {"NumPy alone": in_numpy}),
            *("at most 1.5 times NumPy", vectorised <= 1.5 * in_numpy),
        ),
    ]


def _start_shell() -> None:
    with tempfile.TemporaryDirectory(prefix="sharkpy-bench-") as folder:
        command = [sys.executable, "-m", "sharkpy.cli.main", "--warehouse", folder, "-e", "show tables"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _median(work: Callable[[], object], repeats: int, warm_up: int = 1) -> float:
    for _ in range(warm_up):
        work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)

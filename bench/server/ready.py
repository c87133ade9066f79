"""Time from starting Python to the first answer of an RDD job, without the class cache of `sharkpy warmup`
and with it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.figure import Figure, comparison

MOST_SECONDS = 4.0
_RUNS = 5
_SESSION = """
import sys
import time
import sharkpy

with sharkpy.connect("local[2]", sys.argv[1], **{"shark.placement.driver": "false"}) as context:
    if not sys.argv[2:]:
        context.sql("CREATE TABLE numbers AS SELECT pos FROM (SELECT posexplode(split(space(9999), ' '))) t")
    groups = context.sql("SELECT pos % 10, count(*) FROM numbers GROUP BY pos % 10").fetchall()
    print(time.time())
    assert len(groups) == 10 and context.engine.is_spark_started
"""


def measure(runs: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="sharkpy-bench-ready-") as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": folder}
        warehouse = str(Path(folder) / "warehouse")
        _run(environment, "-c", _SESSION, warehouse)
        cold = _median(environment, warehouse, max(runs, _RUNS))
        start = time.perf_counter()
        _run(environment, "-m", "sharkpy.cli.main", "warmup")
        training = time.perf_counter() - start
        warm = _median(environment, warehouse, max(runs, _RUNS))
    aims = (f"at most {MOST_SECONDS:.0f} s", warm <= MOST_SECONDS)
    return [
        comparison(
            "a new process until its first RDD job has ended, after `sharkpy warmup`",
            "s",
            warm,
            {"without the class cache": cold},
            *aims,
            is_key=True,
        ),
        Figure("`sharkpy warmup` itself", f"{training:.0f} s"),
    ]


def _median(environment: dict[str, str], warehouse: str, runs: int) -> float:
    return statistics.median(_answer(environment, warehouse) for _ in range(runs))


def _answer(environment: dict[str, str], warehouse: str) -> float:
    """Seconds from the start of a Python process to its answer."""
    start = time.time()
    return float(_run(environment, "-c", _SESSION, warehouse, "again")) - start


def _run(environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], check=True, env=environment, stdout=subprocess.PIPE, text=True)
    return done.stdout

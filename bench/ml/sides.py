"""Shared parts of measurements: peers in processes of their own, times of an iteration, memory, sessions."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from bench.engines import CORES
from bench.figure import Figure, comparison
from bench.suites import CACHE, ROOT

LEAST_FASTER, MOST_SCIKIT, MOST_FIRST = 5.0, 1.5, 4.0
_LEAST_SECONDS, _MOST_RUNS = 3.0, 25
Fit = Callable[[int], int]
"""Fits with at most so many iterations, and returns how many there were."""
Side = Callable[[int, float], dict[str, Any]]
"""Measures one of the compared sides, given runs and scale; returns seconds and answers, as JSON takes them."""


def run_side(module: str, side: str, runs: int, scale: float) -> dict[str, Any]:
    """Result of `SIDES[side](runs, scale)` of a module of the package, from a process of its own with two threads."""
    print(f"  {side}", file=sys.stderr)
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(CORES))
    environment = {**os.environ, **threads, "PYTHONPATH": str(ROOT.parent), "PYSPARK_PYTHON": sys.executable}
    environment.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    command = [sys.executable, "-m", "bench.ml.sides", module, side, str(runs), str(scale)]
    done = subprocess.run(command, check=True, cwd=ROOT.parent, env=environment, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(module: str, side: str, runs: int, scale: float) -> None:
    import importlib

    found = importlib.import_module(f"bench.ml.{module}").SIDES[side](runs, scale)
    found["peak_mb"] = peak_megabytes()
    print(json.dumps(found))
    sys.stdout.flush()


def peak_megabytes() -> float:
    """Peak memory of this process, plus that of its live children; shared memory counts for each."""
    total = 0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8").splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return total / 1024


def seconds_an_iteration(fit: Fit, few: int, many: int, runs: int) -> float:
    """Seconds that each iteration beyond the first few adds to a fit, from medians over `runs`: starts and ends cancel
    out.

    Short fits are repeated more often.
    """
    fit(few)
    short: list[float] = []
    long: list[float] = []
    while len(short) < runs or (sum(long) < _LEAST_SECONDS and len(short) < _MOST_RUNS):
        (seconds, some), (more_seconds, more) = _timed(fit, few), _timed(fit, many)
        if more <= some:
            raise AssertionError(f"{many} iterations allowed, and {more} made: the data is too easy")
        short.append(seconds)
        long.append(more_seconds)
    return (statistics.median(long) - statistics.median(short)) / (more - some)


def _timed(fit: Fit, iterations: int) -> tuple[float, int]:
    start = time.perf_counter()
    made = fit(iterations)
    return time.perf_counter() - start, made


@dataclass(slots=True)
class TimedBlocks:
    """FeatureBlocks that note the end of each pass: `passes` has kernels' names and seconds since `start`."""

    blocks: Any
    start: float
    passes: list[tuple[str, float]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.blocks, name)

    def run(self, kernel: Any, argument: Any = None) -> list[Any]:
        found: list[Any] = self.blocks.run(kernel, argument)
        self.passes.append((getattr(kernel, "__name__", str(kernel)), time.perf_counter() - self.start))
        return found

    def first_and_later(self) -> tuple[float, float]:
        """Seconds until the end of the first pass of an iteration, and the median between two such ends later on.

        The kernel that ran most often is the iteration's.
        """
        names = [name for name, _ in self.passes]
        ends = [end for name, end in self.passes if name == max(set(names), key=names.count)]
        return ends[0], statistics.median(np.diff(ends[1:]))


@contextlib.contextmanager
def session() -> Iterator[Any]:
    import sharkpy

    with (
        tempfile.TemporaryDirectory(dir=CACHE) as warehouse,
        sharkpy.connect(f"local[{CORES}]", warehouse) as context,
    ):
        yield context


def cached_table(context: Any, name: str, folder: Path, columns: str) -> None:
    """Load the Parquet files of `folder` as a table in memory."""
    context.sql(f"CREATE EXTERNAL TABLE {name} ({columns}) STORED AS PARQUET LOCATION '{folder}'").close()
    context.sql(f"CACHE TABLE {name}").close()


def spark_session() -> Any:
    from pyspark.sql import SparkSession

    folder = tempfile.mkdtemp(dir=CACHE)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "8g",
        "spark.driver.maxResultSize": "0",
        "spark.local.dir": folder,
        "spark.sql.shuffle.partitions": str(2 * CORES),
        "spark.default.parallelism": str(2 * CORES),
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master(f"local[{CORES}]").appName("bench")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def compared(model: str, ours: dict[str, Any], spark: dict[str, Any], scikit: dict[str, Any]) -> list[Figure]:
    """Figures that the fitted models have in common: seconds of an iteration, the first one, memory."""
    is_faster = spark["iteration"] >= LEAST_FASTER * ours["iteration"]
    is_near = ours["iteration"] <= MOST_SCIKIT * scikit["iteration"]
    aims = (f"{LEAST_FASTER:g} times faster than pyspark.ml, {MOST_SCIKIT:g} times scikit-learn", is_faster and is_near)
    of_first = (f"at most {MOST_FIRST:g} times", ours["first"] <= MOST_FIRST * ours["later"])
    peers = {name: side["iteration"] * 1000 for name, side in (("pyspark.ml", spark), ("scikit-learn", scikit))}
    return [
        comparison(f"an iteration of {model}", "ms", ours["iteration"] * 1000, peers, *aims, is_key=True),
        comparison(
            "the first iteration, with SQL and features",
            "ms",
            ours["first"] * 1000,
            {"a later one": ours["later"] * 1000},
            *of_first,
        ),
        comparison("an iteration over FLOAT columns; peers have doubles", "ms", ours["of_floats"] * 1000, peers),
        comparison("an iteration as tasks of an RDD job each pass", "ms", ours["as_tasks"] * 1000, peers),
        peaks(ours, {"pyspark.ml": spark, "scikit-learn": scikit}),
    ]


def peaks(ours: dict[str, Any], peers: dict[str, dict[str, Any]]) -> Figure:
    return comparison("peak memory", "MB", ours["peak_mb"], {name: side["peak_mb"] for name, side in peers.items()})


def farthest(found: Sequence[float], wanted: Sequence[float]) -> float:
    """Largest difference of corresponding numbers."""
    return float(np.abs(np.asarray(found) - np.asarray(wanted)).max())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))

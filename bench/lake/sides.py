"""Sides of a comparison, each in a process of its own: nothing that one has read is warm for the next one."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bench.engines import CORES
from bench.suites import CACHE, ROOT

Side = Callable[[dict[str, Any]], dict[str, Any]]
"""Measures one of the compared sides by its arguments; both are as JSON takes them."""


def run_side(module: str, side: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Result of `SIDES[side](arguments)` of a module of the package."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT.parent), "PYSPARK_PYTHON": sys.executable}
    environment.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    command = [sys.executable, "-m", "bench.lake.sides", module, side, json.dumps(dict(arguments))]
    done = subprocess.run(command, check=True, cwd=ROOT.parent, env=environment, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@contextmanager
def session(settings: Mapping[str, str]) -> Iterator[Any]:
    """A session that is ready, over an empty warehouse."""
    import sharkpy

    CACHE.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=CACHE) as warehouse,
        sharkpy.connect(f"local[{CORES}]", warehouse, **settings) as context,
    ):
        context.sql("SELECT 1").fetchall()
        yield context


def main(module: str, side: str, arguments: str) -> None:
    found = importlib.import_module(f"bench.lake.{module}").SIDES[side](json.loads(arguments))
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])

"""Packages of measurements: each measurement in a process of its own."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from bench.figure import Figure
from bench.suites import CACHE, ROOT


def run_measurements(
    package: str, runs: int, wanted: str | None = None, scale: float = 1.0, checkout: Path | None = None
) -> dict[str, list[Figure]]:
    """Figures of the measurements `wanted` (names with commas between; None: all NAMES of the package).

    A measurement that fails has no figures: its error is on stderr, and the others follow.
    `checkout`: another checkout; the package `beside` measures both in turn.
    """
    known: tuple[str, ...] = importlib.import_module(f"bench.{package}").NAMES
    figures: dict[str, list[Figure]] = {}
    for name in known if wanted is None else wanted.split(","):
        print(f"{package}: {name}", file=sys.stderr)
        figures[name] = _measure(package, name, runs, scale, checkout)
        for one in figures[name]:
            aim = {None: "", True: f" (reached: {one.wanted})", False: f" (MISSED: {one.wanted})"}[one.met]
            print(f"  {one.what}: {one.value}{aim}", file=sys.stderr)
    return figures


def libraries(package: str) -> tuple[str, ...]:
    """Peers and libraries of a package whose versions are recorded, if it names any."""
    found: tuple[str, ...] = getattr(importlib.import_module(f"bench.{package}"), "LIBRARIES", ())
    return found


def _measure(package: str, name: str, runs: int, scale: float, checkout: Path | None) -> list[Figure]:
    """Figures of a measurement; none of one that fails."""
    other = [] if checkout is None else [str(checkout.resolve())]
    command = [sys.executable, "-m", "bench.measurements", package, name, str(runs), str(scale), *other]
    environment = {**os.environ, "PYTHONPATH": str(ROOT.parent)}
    done = subprocess.run(command, check=False, cwd=ROOT.parent, env=environment, stdout=subprocess.PIPE, text=True)
    return [] if done.returncode else [Figure(**one) for one in json.loads(done.stdout.splitlines()[-1])]


def main(package: str, name: str, runs: int, scale: float, *other: str) -> None:
    """Run one measurement, and print its figures as the last line. Measurements of some packages have a scale."""
    # What it started is stopped when it is terminated.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    measure = importlib.import_module(f"bench.{package}.{name}").measure
    CACHE.mkdir(parents=True, exist_ok=True)
    if other:
        figures = measure(runs, scale, Path(other[0]))
    else:
        figures = measure(runs) if scale == 1 else measure(runs, scale)
    print(json.dumps([asdict(one) for one in figures]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), *sys.argv[5:])

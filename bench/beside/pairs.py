"""Programs run in turn by this checkout and by another one: the same interpreter, libraries and machine."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from bench.figure import Figure
from bench.suites import ROOT

Answer = TypeVar("Answer")
HERE = ROOT.parent
MOST = 1.05
"""Two runs of one checkout differ by up to this ratio, so it does not count as a difference."""


def run(checkout: Path, *arguments: str) -> str:
    """Return the output of a Python process that imports sharkpy from `checkout`."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, check=True, cwd=checkout, env=environment, stdout=subprocess.PIPE, text=True).stdout


def in_turn(runs: int, checkout: Path, once: Callable[[Path], Answer]) -> list[tuple[Answer, Answer]]:
    """`once` for this checkout and for the other one, `runs` times after one that does not count."""
    for place in (HERE, checkout):
        once(place)
    pairs = []
    for number in range(runs):
        order = (HERE, checkout) if number % 2 == 0 else (checkout, HERE)
        found = {place: once(place) for place in order}
        pairs.append((found[HERE], found[checkout]))
    return pairs


def program_figures(program: str, runs: int, checkout: Path) -> list[Figure]:
    """Figures of a program that prints the median microseconds of each measurement, as JSON."""
    pairs = in_turn(runs, checkout, lambda place: json.loads(run(place, "-c", program)))
    return [figure(what, [(a[what], b[what]) for a, b in pairs], "µs") for what in pairs[0][0]]


def figure(what: str, pairs: Sequence[tuple[float, float]], unit: str) -> Figure:
    """Medians of both, and the median of the ratios of pairs."""
    here, there = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
    ratio = statistics.median(a / b for a, b in pairs)
    value = f"{ratio:.2f}x ({here:.4g} {unit}, {there:.4g} {unit})"
    return Figure(what, value, f"at most {MOST:.2f}x", ratio <= MOST)

"""Times of statements before and after a warehouse has grown."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sharkpy
from bench.figure import Figure

MOST = 1.2
"""A statement may take this many times its time in a small warehouse."""


@contextmanager
def warehouse(**conf: object) -> Iterator[sharkpy.SharkContext]:
    with (
        tempfile.TemporaryDirectory(prefix="sharkpy-bench-growth-") as folder,
        sharkpy.connect("local[2]", Path(folder, "w"), **conf) as context,
    ):
        yield context


def median_ms(context: sharkpy.SharkContext, statement: str, number: int) -> float:
    """Return the median time of a statement, in ms. In its text, {n} is the number of the run."""
    times = []
    for n in range(number):
        start = time.perf_counter()
        context.sql(statement.format(n=n)).fetchall()
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def grown(what: str, before: float, after: float, *, is_key: bool = False) -> Figure:
    """Return the figure of a statement whose medians are these, in ms."""
    ratio = after / before
    value = f"{ratio:.2f}x ({after:.3g} ms, {before:.3g} ms before)"
    return Figure(what, value, f"at most {MOST:.1f}x", ratio <= MOST, is_key=is_key)

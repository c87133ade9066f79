"""Times of statements in a small warehouse and in one that has grown."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import sharkpy
from bench.figure import Figure

MOST = 1.2
"""A statement may take this many times its time in the small warehouse."""
SMALL = 100
"""Commits, Hive partitions or tables in the small warehouse."""
_RUNS = 50

Pair = tuple[sharkpy.SharkContext, sharkpy.SharkContext]
"""Sessions over the small warehouse and over the other one."""


@contextmanager
def warehouses() -> Iterator[Pair]:
    with (
        tempfile.TemporaryDirectory(prefix="sharkpy-bench-growth-") as folder,
        sharkpy.connect("local[2]", Path(folder, "small")) as small,
        sharkpy.connect("local[2]", Path(folder, "large")) as large,
    ):
        yield small, large


def compared(pair: Pair, statements: Mapping[str, str], size: str, keys: Collection[str]) -> list[Figure]:
    """Run each statement in both warehouses by turns, and compare the medians. In its text, {n} is the number of the
    run. `size` tells what the large warehouse has.
    """
    return [
        _compared(pair, text, f"{what}, {size} instead of {SMALL}", what in keys) for what, text in statements.items()
    ]


def _compared(pair: Pair, statement: str, what: str, is_key: bool) -> Figure:
    times: tuple[list[float], list[float]] = ([], [])
    for n in range(_RUNS):
        for context, found in zip(pair, times, strict=True):
            start = time.perf_counter()
            context.sql(statement.format(n=n)).fetchall()
            found.append(1000 * (time.perf_counter() - start))
    before, after = map(statistics.median, times)
    value = f"{after / before:.2f}x ({after:.3g} ms instead of {before:.3g} ms)"
    return Figure(what, value, f"at most {MOST:.1f}x", after / before <= MOST, is_key=is_key)

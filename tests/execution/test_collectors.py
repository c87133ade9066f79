"""Statistics of map tasks in at most 2 kB, and of all of them together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.execution.tasks.exchange_statistics import (
    COLLECTORS,
    MOST_KEYS,
    TASK_BYTES,
    TaskCollectors,
    Window,
    merge_collected,
)
from sharkpy.execution.tasks.report import ReportCollector, TaskReport
from sharkpy.physical.plan import ExchangeStatistics


def window(key: np.ndarray, num_buckets: int, spread: dict[int, int] | None = None) -> Window:
    """Rows whose key is its own hash."""
    hashes = key.astype(np.uint64)
    counts = np.bincount((hashes % np.uint64(num_buckets)).astype(np.int64), minlength=num_buckets)
    return Window(counts, spread or {})


def collected(*windows: Window) -> bytes:
    collectors = TaskCollectors()
    for one in windows:
        collectors.observe(one)
    return collectors.encode()


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 40), max_size=60), min_size=1, max_size=4), st.integers(1, 9))
def test_few_rows_are_told_exactly(tasks: list[list[int]], num_buckets: int) -> None:
    merged = merge_collected([collected(window(np.array(task, np.int64), num_buckets)) for task in tasks])
    keys = [key for task in tasks for key in task]
    assert merged["rows_per_bucket"] == tuple(
        sum(key % num_buckets == bucket for key in keys) for bucket in range(num_buckets)
    )
    assert ExchangeStatistics(len(keys), (0,) * num_buckets, **merged).rows == len(keys)


@pytest.mark.parametrize("num_buckets", [1, 200, 2000, 20_000])
@pytest.mark.parametrize("rows", [10, 300_000])
def test_a_task_tells_no_more_than_two_kilobytes(num_buckets: int, rows: int) -> None:
    random = np.random.default_rng(5)
    keys = random.zipf(1.3, rows) % 1_000_003
    most = {int(key): 3 for key in np.unique(keys)[:MOST_KEYS]}
    encoded = collected(window(keys, num_buckets, most), window(keys, num_buckets, most))
    assert len(encoded) <= TASK_BYTES == 2048
    merged = merge_collected([encoded, encoded])
    assert len(merged["spread_keys"]) == min(MOST_KEYS, len(most))
    assert len(merged["rows_per_bucket"]) == num_buckets
    assert sum(merged["rows_per_bucket"]) == pytest.approx(4 * rows, rel=0.05, abs=num_buckets / 2)


def test_rough_rows_per_bucket_are_near() -> None:
    """There is one figure a bucket, or for a few neighbours, if exact ones do not fit."""
    random = np.random.default_rng(5)
    keys = random.integers(0, 1 << 40, 1_000_000)
    (rough,) = (merge_collected([collected(window(keys, 1500))])["rows_per_bucket"],)
    exact = np.bincount(keys % 1500, minlength=1500)
    assert np.abs(np.array(rough) - exact).max() <= 0.25 * exact.max()


def test_another_try_of_a_task_takes_the_place_of_the_first() -> None:
    """A retry or a speculative copy reports the same again, which must not be added."""
    part = collected(window(np.arange(100), 4))
    book = ReportCollector()
    book.open(1, lambda _: None)
    for partition in (0, 1, 0, 1, 1):
        book.add(TaskReport(1, partition, collected=part))
    merged = merge_collected([report.collected for report in book.close(1)])
    assert sum(merged["rows_per_bucket"]) == 200


def test_each_collector_fills_a_field_of_the_statistics() -> None:
    assert {row.name for row in COLLECTORS} <= set(ExchangeStatistics.__slots__)

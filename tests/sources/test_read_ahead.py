"""Remote splits, read one after the other: the next one is begun while the rows of one are taken."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from sharkpy.base.cancellation import Cancellation, check_cancelled
from sharkpy.base.errors import CancelledError, SourceError
from sharkpy.sources.source import ReadMetrics, Split
from sharkpy.sources.split_rows import read_splits
from tests.waiting import PATIENCE, allowed


def split(number: int) -> Split:
    return Split(f"s3://b/{number}", "parquet", (), 0, 1, 1, 1, access="mine")


def batch(number: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"k": [number]})


def number_of(one: Split) -> int:
    return int(one.path[-1])


def test_rows_come_in_order_and_are_counted() -> None:
    def read(one: Split, metrics: ReadMetrics) -> Iterator[pa.RecordBatch]:
        for part in range(number_of(one)):
            metrics.rows += 1
            yield batch(10 * number_of(one) + part)

    metrics = ReadMetrics()
    found = [(one, rows["k"][0].as_py()) for one, rows in read_splits([split(2), split(0), split(3)], read, metrics, 1)]
    assert found == [(split(2), 20), (split(2), 21), (split(3), 30), (split(3), 31), (split(3), 32)]
    assert metrics.rows == 5


def test_the_next_one_is_begun() -> None:
    begun = threading.Event()

    def read(one: Split, _: ReadMetrics) -> Iterator[pa.RecordBatch]:
        if number_of(one) == 2:
            begun.set()
        yield batch(number_of(one))

    rows = read_splits([split(1), split(2)], read, ReadMetrics(), 1)
    assert next(rows)[0] == split(1)
    assert begun.wait(allowed(PATIENCE))
    assert next(rows)[0] == split(2)


def test_a_failure_comes_behind_the_rows_before_it() -> None:
    def read(one: Split, _: ReadMetrics) -> Iterator[pa.RecordBatch]:
        if number_of(one) == 2:
            raise SourceError("it is gone")
        yield batch(number_of(one))

    rows = read_splits([split(1), split(2)], read, ReadMetrics(), 1)
    assert next(rows)[0] == split(1)
    with pytest.raises(SourceError, match="it is gone"):
        next(rows)


@pytest.mark.parametrize("ends", ["reader", "statement"])
def test_what_was_begun_ends_with_its_reader(ends: str) -> None:
    begun, ended = threading.Event(), threading.Event()

    def read(one: Split, _: ReadMetrics) -> Iterator[pa.RecordBatch]:
        if number_of(one) == 2:
            begun.set()
            try:
                while not ended.wait(0.01):
                    check_cancelled()
            except CancelledError:
                ended.set()
                raise
        yield batch(number_of(one))

    statement = Cancellation()
    with statement.active() if ends == "reader" else pytest.raises(CancelledError):
        rows = statement.steps(read_splits([split(1), split(2)], read, ReadMetrics(), 1))  # type: ignore[arg-type]
        assert next(rows)[0] == split(1)
        assert begun.wait(allowed(PATIENCE))
        if ends == "reader":
            rows.close()
        else:
            statement.cancel()
            next(rows)
    assert ended.is_set()

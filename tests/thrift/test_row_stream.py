"""Rows ahead of their reader: bounded, in order, rewound, ended, and with no thread held between two fills."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, NoReturn

import pyarrow as pa
import pytest

from sharkpy.base.errors import ExecutionError, ResourceError
from sharkpy.thrift.config import Limits
from sharkpy.thrift.row_stream import BufferedBytes, RowStream
from tests.waiting import PATIENCE

SMALL = Limits(rows_buffered=10, bytes_buffered=0)
UNBOUNDED = Limits(rows_buffered=0, bytes_buffered=0)


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


class Source:
    """Batches of three rows that count up; notes how many were made, and whether it was freed."""

    def __init__(self, num_batches: int, error: Exception | None = None) -> None:
        self.num_batches = num_batches
        self.error = error
        self.made = 0
        self.freed = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        for number in range(self.num_batches):
            self.made += 1
            yield batch(range(3 * number, 3 * number + 3))
        if self.error is not None:
            raise self.error

    def free(self) -> None:
        self.freed += 1

    def stream(self, executor: ThreadPoolExecutor, limits: Limits = SMALL) -> RowStream:
        return RowStream(self.batches(), limits, executor, self.free)


class NoThreads(Executor):
    def submit(self, *_: Any, **__: Any) -> NoReturn:
        raise AssertionError("rows are made in another thread")


def batch(values: range) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": list(values)})


def values(batches: list[pa.RecordBatch]) -> list[int]:
    return [value for one in batches for value in one.column(0).to_pylist()]


def take_all(stream: RowStream, most: int) -> list[int]:
    taken: list[int] = []
    while True:
        start, batches = stream.take(most)
        assert start == len(taken)
        if not batches:
            return taken
        assert sum(one.num_rows for one in batches) <= most
        taken += values(batches)


def settle(stream: RowStream) -> None:
    """Wait until the fill in the background has stopped."""
    deadline = time.monotonic() + PATIENCE
    before = -1
    while before != stream.rows_ahead:
        assert time.monotonic() < deadline
        before = stream.rows_ahead
        time.sleep(0.05)


@pytest.mark.parametrize("most", [1, 2, 3, 4, 100])
@pytest.mark.parametrize("limits", [SMALL, UNBOUNDED, Limits(rows_buffered=1), Limits(bytes_buffered=1)])
def test_every_row_once_and_in_order(executor: ThreadPoolExecutor, limits: Limits, most: int) -> None:
    stream = Source(20).stream(executor, limits)
    stream.fill_first()
    assert take_all(stream, most) == list(range(60))
    assert stream.is_exhausted
    assert (stream.rows_ahead, stream.bytes_ahead) == (0, 0)


def test_few_rows_ahead_and_no_thread_meanwhile(executor: ThreadPoolExecutor) -> None:
    source = Source(1000)
    stream = source.stream(executor)
    stream.fill_first()
    settle(stream)
    assert source.made == 4, "ten rows are enough: four batches of three"
    assert stream.rows_ahead == 12
    assert not stream.is_over
    # All threads are free: four tasks that wait for one another can run.
    barrier = threading.Barrier(4)
    for waiting in [executor.submit(barrier.wait, 5) for _ in range(4)]:
        waiting.result()


def test_a_whole_answer_ends_with_its_first_rows_and_without_a_thread() -> None:
    source = Source(1)
    stream = RowStream(source.batches(), SMALL, NoThreads(), source.free, is_complete=lambda: source.made == 1)
    stream.fill_first()
    assert stream.is_over
    assert not stream.is_exhausted
    assert values(stream.take(2)[1]) == [0, 1]
    assert not stream.is_exhausted
    assert values(stream.take(2)[1]) == [2]
    assert stream.is_exhausted
    assert stream.take(2) == (3, [])
    assert stream.take(9, from_start=True)[0] == 0
    stream.close()
    assert source.freed == 1


def test_batches_that_are_there_are_taken_with_the_first_up_to_the_limit(executor: ThreadPoolExecutor) -> None:
    source = Source(1000)
    stream = RowStream(source.batches(), SMALL, NoThreads(), is_complete=lambda: source.made < 3)
    with pytest.raises(AssertionError):
        stream.fill_first()
    assert source.made == 3, "the third one is not known to be followed by what is there"
    source = Source(20)
    stream = RowStream(source.batches(), SMALL, executor, is_complete=lambda: True)
    stream.fill_first()
    assert (source.made, stream.is_over) == (4, False), "ten rows are enough"
    assert take_all(stream, 100) == list(range(60))


def test_an_error_at_the_end_of_a_whole_answer_comes_after_its_rows() -> None:
    source = Source(1, ResourceError("out of disk"))
    stream = RowStream(source.batches(), SMALL, NoThreads(), is_complete=lambda: True)
    stream.fill_first()
    assert stream.is_over
    assert values(stream.take(100)[1]) == [0, 1, 2]
    assert not stream.is_exhausted
    with pytest.raises(ResourceError, match="out of disk"):
        stream.take(100)


def test_a_whole_answer_that_is_closed_while_its_end_is_read(executor: ThreadPoolExecutor) -> None:
    at_end, go_on = threading.Event(), threading.Event()
    freed: list[bool] = []

    def batches() -> Iterator[pa.RecordBatch]:
        yield batch(range(3))
        at_end.set()
        assert go_on.wait(PATIENCE)

    stream = RowStream(batches(), SMALL, NoThreads(), lambda: freed.append(go_on.is_set()), is_complete=lambda: True)
    filling = executor.submit(stream.fill_first)
    assert at_end.wait(PATIENCE)
    stream.close()
    assert not freed
    go_on.set()
    filling.result(PATIENCE)
    assert freed == [True]
    with pytest.raises(ExecutionError, match="closed"):
        stream.take(10)


def test_bytes_bound_what_lies_ready(executor: ThreadPoolExecutor) -> None:
    source = Source(1000)
    stream = source.stream(executor, Limits(rows_buffered=0, bytes_buffered=100))
    stream.fill_first()
    settle(stream)
    assert source.made == 5, "of 24 bytes each"
    assert stream.bytes_ahead == 120


def test_an_error_comes_after_the_rows_before_it(executor: ThreadPoolExecutor) -> None:
    stream = Source(2, ResourceError("out of disk")).stream(executor)
    stream.fill_first()
    settle(stream)
    assert values(stream.take(100)[1]) == list(range(6))
    assert not stream.is_exhausted
    for _ in range(2):
        with pytest.raises(ResourceError, match="out of disk"):
            stream.take(100)


def test_an_error_before_the_first_row(executor: ThreadPoolExecutor) -> None:
    stream = Source(0, ResourceError("out of disk")).stream(executor)
    with pytest.raises(ResourceError):
        stream.fill_first()


def test_rewind(executor: ThreadPoolExecutor) -> None:
    stream = Source(3).stream(executor)
    stream.fill_first()
    settle(stream)
    assert values(stream.take(4)[1]) == [0, 1, 2, 3]
    assert stream.take(2, from_start=True)[0] == 0
    assert values(stream.take(100)[1])[0] == 2
    start, again = stream.take(100, from_start=True)
    assert start == 0
    assert (values(again) + take_all_from(stream, len(values(again)))) == list(range(9))


def take_all_from(stream: RowStream, start: int) -> list[int]:
    taken: list[int] = []
    while batches := stream.take(100)[1]:
        taken += values(batches)
    return taken


def test_what_was_too_much_to_keep_cannot_be_rewound(executor: ThreadPoolExecutor) -> None:
    stream = Source(20).stream(executor)
    stream.fill_first()
    take_all(stream, 5)
    with pytest.raises(ExecutionError, match="the rows before are gone") as error:
        stream.take(1, from_start=True)
    assert error.value.sqlstate == "HYC00"


def test_close_frees_the_source_once(executor: ThreadPoolExecutor) -> None:
    source = Source(1000)
    stream = source.stream(executor)
    stream.fill_first()
    settle(stream)
    stream.close()
    assert source.freed >= 1
    assert stream.rows_ahead == 0


def test_close_while_a_row_is_made_frees_after_it(executor: ThreadPoolExecutor) -> None:
    begun, go_on = threading.Event(), threading.Event()
    freed_while_making: list[bool] = []

    def batches() -> Iterator[pa.RecordBatch]:
        begun.set()
        assert go_on.wait(PATIENCE)
        yield batch(range(3))

    stream = RowStream(batches(), SMALL, executor, lambda: freed_while_making.append(not go_on.is_set()))
    filling = executor.submit(stream.fill)
    assert begun.wait(PATIENCE)
    stream.close()
    assert not freed_while_making
    go_on.set()
    filling.result(PATIENCE)
    assert freed_while_making == [False]
    assert stream.rows_ahead == 0


def test_close_wakes_a_reader_who_waits(executor: ThreadPoolExecutor) -> None:
    go_on = threading.Event()

    def batches() -> Iterator[pa.RecordBatch]:
        go_on.wait(5)
        yield batch(range(3))

    stream = RowStream(batches(), SMALL, executor)
    reading = executor.submit(stream.take, 10)
    with pytest.raises(TimeoutError):
        reading.result(0.1)
    stream.close()
    with pytest.raises(ExecutionError, match="closed"):
        reading.result(PATIENCE)
    go_on.set()


def test_after_close_no_end_is_feigned(executor: ThreadPoolExecutor) -> None:
    """All rows were made, some taken: a reader of the rest must not take the close for their end."""
    stream = Source(2).stream(executor)
    stream.fill_first()
    settle(stream)
    assert stream.is_over
    stream.take(2)
    stream.close()
    with pytest.raises(ExecutionError, match="closed"):
        stream.take(10)
    with pytest.raises(ExecutionError, match="closed"):
        stream.take(10, from_start=True)


def test_readers_at_once_get_other_rows_with_their_numbers(executor: ThreadPoolExecutor) -> None:
    stream = Source(2000).stream(executor, Limits(rows_buffered=50))
    stream.fill_first()
    found: dict[int, list[int]] = {}

    def read() -> None:
        while True:
            start, batches = stream.take(7)
            if not batches:
                return
            found[start] = values(batches)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(30)
    rows = [(start + place, value) for start, some in found.items() for place, value in enumerate(some)]
    assert sorted(rows) == [(number, number) for number in range(6000)]


def test_streams_that_hold_too_much_together_hold_little_each(executor: ThreadPoolExecutor) -> None:
    """Each goes on all the same, a batch at a time."""
    one_batch = batch(range(3)).nbytes
    buffered = BufferedBytes(4 * one_batch)
    streams = [RowStream(Source(20).batches(), UNBOUNDED, executor, buffered=buffered) for _ in range(10)]
    for stream in streams:
        stream.fill_first()
        settle(stream)
    assert buffered.held <= (4 + len(streams)) * one_batch
    assert [stream.rows_ahead for stream in streams[4:]] == [3] * 6
    for stream in streams[4:]:
        assert take_all(stream, 2) == list(range(60))
        with pytest.raises(ExecutionError, match="only the first rows"):
            stream.take(1, from_start=True)
    for stream in streams:
        stream.close()
    assert buffered.held == 0


def test_what_may_be_read_again_is_counted(executor: ThreadPoolExecutor) -> None:
    buffered = BufferedBytes(1 << 20)
    stream = RowStream(Source(5).batches(), UNBOUNDED, executor, buffered=buffered)
    stream.fill_first()
    assert take_all(stream, 100) == list(range(15))
    assert buffered.held == 5 * batch(range(3)).nbytes
    assert stream.take(100, from_start=True)[0] == 0
    assert buffered.held == 5 * batch(range(3)).nbytes
    stream.close()
    assert buffered.held == 0

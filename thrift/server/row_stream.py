"""Rows of an operation, made ahead of their reader up to a limit, and read once or from the start again.

Operations share the threads that make rows, and the limit on the bytes of all rows that are ready.
"""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import field
from typing import TYPE_CHECKING

import pyarrow as pa

from sharkpy.base.errors import ExecutionError
from sharkpy.base.records import dataclass
from sharkpy.thrift.config import Limits

if TYPE_CHECKING:
    from sharkpy.thrift.guard import StatementBoard

TAKEN_BYTES = 12 << 20
"""Bytes of the rows of one `take`, approximately: a larger answer may exceed the limit of its client."""


class RowStream:
    """Rows of an operation, made ahead of their reader.

    1. `fill` makes rows until enough are ready. It is called in a thread of `executor`, and again as rows are read.
       Between two calls of `fill` no thread is held.
    2. `take` waits for rows. It raises the error of `fill` after all earlier rows were taken.
    3. Several readers may take rows at once. Each gets different rows, and the number of its first row.
    4. Taken rows are kept while they are few, so that a reader may start again.
    5. If all streams together hold too much, one batch is ready and no taken rows are kept.
    6. `close` may be called at any time. Waiting and later calls of `take` then raise ExecutionError 24000.
    """

    def __init__(
        self,
        batches: Iterator[pa.RecordBatch],
        limits: Limits,
        executor: Executor,
        free: Callable[[], None] = lambda: None,
        buffered: BufferedBytes | None = None,
        is_complete: Callable[[], bool] = lambda: False,
    ) -> None:
        """`free` is called when no more of `batches` is wanted, but never while a batch is being made. `buffered`
        counts the rows of all streams, including this one. `is_complete` says whether the rest of `batches`, and its
        end, come without waiting, as far as that is known after each batch.
        """
        self._batches = batches
        self._free = free
        self._limits = limits
        self._executor = executor
        self._is_complete = is_complete
        self._buffered = buffered or BufferedBytes()
        self._counted = 0
        """Bytes of this stream in `buffered`."""
        self._changed = threading.Condition()
        self._ready: deque[pa.RecordBatch] = deque()
        self._num_ready = self._bytes_ready = 0
        self._taken: list[pa.RecordBatch] | None = []
        self._num_taken = self._bytes_taken = 0
        self._is_filling = self._is_over = self._is_closed = False
        self._error: BaseException | None = None

    @property
    def rows_ahead(self) -> int:
        return self._num_ready

    @property
    def bytes_ahead(self) -> int:
        return self._bytes_ready

    @property
    def is_over(self) -> bool:
        """True once all rows are made, or making them has failed."""
        return self._is_over

    @property
    def is_exhausted(self) -> bool:
        """True once all rows are taken."""
        with self._changed:
            return self._is_over and not self._ready and self._error is None

    def fill_first(self) -> None:
        """Wait for the first rows, then make more in a thread. A short answer is complete by then. Raise any error."""
        self.fill(is_first=True)
        with self._changed:
            if self._error is not None and not self._ready:
                raise self._error
            self._fill_later()

    def fill(self, *, is_first: bool = False) -> None:
        """Make rows until enough are ready. Never raise: `take` raises the error.

        If `is_first`, stop after some rows and further rows that come without waiting.
        """
        with self._changed:
            if self._is_filling or self._is_over or self._is_closed:
                return
            self._is_filling = True
        error: BaseException | None = None
        is_over = False
        try:
            while not self._is_full():
                batch = next(self._batches, None)
                if batch is None:
                    is_over = True
                    break
                self._add(batch)
                if is_first and batch.num_rows and not self._is_complete():
                    break
        except BaseException as caught:  # noqa: BLE001 - the reader gets it
            error, is_over = caught, True
        is_wanted = self._is_wanted_after(error, is_over)
        # Its traceback holds this frame. In such a cycle both would wait for the garbage collector.
        del error
        if not is_wanted:
            self._free()

    def take(self, most: int, *, from_start: bool = False) -> tuple[int, list[pa.RecordBatch]]:
        """Take at most `most` rows, of about TAKEN_BYTES. Return the number of the first row, and the rows.

        An empty list means the end. Raise the error of making the rows.
        """
        with self._changed:
            if from_start:
                self._rewind()
            self._wait_for_rows()
            taken: list[pa.RecordBatch] = []
            start, size = self._num_taken, 0
            most_bytes = min(self._limits.bytes_buffered or TAKEN_BYTES, TAKEN_BYTES)
            while self._ready and most > 0 and size < most_bytes:
                batch = self._next(most, most_bytes - size)
                taken.append(batch)
                most -= batch.num_rows
                size += batch.nbytes
            if not taken and self._error is not None:
                raise copy.copy(self._error)
            self._keep(taken, size)
            self._count_held()
            if self._num_ready <= self._limits.rows_buffered // 2:
                self._fill_later()
        return start, taken

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._ready.clear()
            self._num_ready = self._bytes_ready = 0
            self._taken, self._bytes_taken = None, 0
            self._error = None
            self._count_held()
            is_filling = self._is_filling
            self._changed.notify_all()
        if not is_filling:
            self._free()

    def _is_wanted_after(self, error: BaseException | None, is_over: bool) -> bool:
        """Note the end of a fill. Return False if the stream was closed meanwhile."""
        with self._changed:
            self._is_filling = False
            self._is_over = is_over
            self._error = None if self._is_closed else error
            self._changed.notify_all()
            return not self._is_closed

    def _is_full(self) -> bool:
        with self._changed:
            limits = self._limits
            is_full = self._num_ready >= limits.rows_buffered > 0 or self._bytes_ready >= limits.bytes_buffered > 0
            return is_full or self._is_closed or (self._buffered.is_full and bool(self._ready))

    def _add(self, batch: pa.RecordBatch) -> None:
        with self._changed:
            if batch.num_rows and not self._is_closed:
                self._ready.append(batch)
                self._count_ready(batch, 1)
                self._count_held()
                self._changed.notify_all()

    # Under the lock

    def _wait_for_rows(self) -> None:
        while not (self._ready or self._is_over or self._is_closed):
            self._fill_later()
            self._changed.wait()
        if self._is_closed:
            raise ExecutionError("the operation was closed", sqlstate="24000")

    def _next(self, most: int, most_bytes: int) -> pa.RecordBatch:
        """Return the next rows: at most `most`, and about `most_bytes` unless one row is larger."""
        batch = self._ready.popleft()
        self._count_ready(batch, -1)
        if batch.nbytes > most_bytes:
            most = min(most, max(1, batch.num_rows * most_bytes // batch.nbytes))
        if batch.num_rows <= most:
            return batch
        self._put_back(batch.slice(most))
        return batch.slice(0, most)

    def _put_back(self, batch: pa.RecordBatch) -> None:
        self._ready.appendleft(batch)
        self._count_ready(batch, 1)

    def _count_ready(self, batch: pa.RecordBatch, sign: int) -> None:
        self._num_ready += sign * batch.num_rows
        self._bytes_ready += sign * batch.nbytes

    def _count_held(self) -> None:
        held = self._bytes_ready + (0 if self._taken is None else self._bytes_taken)
        self._buffered.change(held - self._counted)
        self._counted = held

    def _rewind(self) -> None:
        if self._is_closed:
            return
        if self._taken is None:
            raise ExecutionError(
                "the rows before are gone: only the first rows of a result can be read again",
                hint="run the statement again",
                sqlstate="HYC00",
            )
        for batch in reversed(self._taken):
            self._put_back(batch)
        self._taken, self._num_taken, self._bytes_taken = [], 0, 0

    def _keep(self, taken: list[pa.RecordBatch], size: int) -> None:
        self._num_taken += sum(batch.num_rows for batch in taken)
        self._bytes_taken += size
        rows, most_bytes = self._limits.rows_buffered, self._limits.bytes_buffered
        is_much = 0 < rows < self._num_taken or 0 < most_bytes < self._bytes_taken
        if is_much or self._buffered.is_full:
            self._taken = None
        elif self._taken is not None:
            self._taken += taken

    def _fill_later(self) -> None:
        if not (self._is_filling or self._is_over or self._is_closed):
            self._executor.submit(self.fill)


class BufferedBytes:
    """Bytes of rows that all operations hold for their readers. The limit is `most`; 0 means no limit."""

    def __init__(self, most: int = 0) -> None:
        self.held = 0
        self._most = most
        self._lock = threading.Lock()

    @property
    def is_full(self) -> bool:
        return 0 < self._most <= self.held

    def change(self, size: int) -> None:
        with self._lock:
            self.held += size


@dataclass(frozen=True, slots=True)
class OperationResources:
    executor: Executor
    buffered: BufferedBytes = field(default_factory=BufferedBytes)
    board: StatementBoard | None = None
    """Board on which threads note the operation for which they work."""

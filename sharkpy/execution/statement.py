"""Running statement of a session: its cancellation, its time, and its turn among other statements."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import StatementTimeoutError
from sharkpy.execution.stages.progress import Progress, ProgressListener, ignore_progress

_LEAST_SECONDS = 0.01
_numbers = itertools.count(1)


class Turn(Protocol):
    """Turn of the admission queue, which counts only while its statement works."""

    def resume(self) -> None: ...

    def pause(self) -> None: ...


class Statement(Cancellation):
    """Running statement of a session.

    1. `active` is entered by one thread at a time, while it works; in between the reader of the rows works.
    2. The time of `timeout` runs, and the turn is held, only inside `active`.
    3. `end` is called once, when the statement has returned its last row or has failed.
    4. `listener` gets its progress, from any thread; it must not wait.
    5. Figures and plans are kept for its record in the history, the plans' text up to `plan_bytes`.
    """

    def __init__(self, timeout: float = 0.0, listener: ProgressListener = ignore_progress, plan_bytes: int = 0) -> None:
        super().__init__()
        self.turn: Turn | None = None
        self.query_id = ""
        """Its id in the history; empty where it is not to be there."""
        self.text = ""
        self.kind = ""
        """SELECT, CREATE TABLE and so on, once that is known."""
        self.rows_read = 0
        self.rows_written = 0
        self.changed_rows = 0
        """Rows that the write which ended last has changed, of those it wrote."""
        self.malformed_rows = 0
        """Rows of streams that did not parse, in an epoch."""
        self.queued_seconds = 0.0
        self.progress: Progress | None = None
        self.plan = ""
        """Text of the plans that it has run."""
        self.thread = 0
        """System's number of the thread that works for it; 0 while none does."""
        self.grown_bytes = 0
        """Bytes by which this process has grown while it worked: its share, as far as that can be told."""
        self.alone_bytes = 0
        """Bytes of these that came while no other statement worked."""
        self.memory_limit = 0
        """Bytes that it may use in this process; 0: any."""
        self.number = next(_numbers)
        """Number that no other statement of this process has."""
        self._plan_bytes = plan_bytes
        self._listener = listener
        self._timeout = timeout
        self._clock = threading.Lock()
        self._num_active = 0
        """Number of times that `active` is entered now."""
        self._timer: threading.Timer | None = None
        self._spent = 0.0
        self._since: float | None = None
        self._is_over = False

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        self._resume()
        try:
            with super().active():
                yield
        finally:
            self._pause()

    @property
    def has_listener(self) -> bool:
        return self._listener is not ignore_progress

    def report(self, progress: Progress) -> None:
        if progress.notice is None:
            self.progress = progress
        self._listener(progress)

    def keep_plan(self, text: Callable[[], str]) -> None:
        """Add the text of a plan that has run, made if there is room for any."""
        if len(self.plan) < self._plan_bytes:
            self.plan = f"{self.plan}\n{text()}" if self.plan else text()

    @property
    def is_active(self) -> bool:
        """Whether a thread works for it."""
        return self._since is not None

    @property
    def working_seconds(self) -> float:
        """Time inside `active` so far."""
        with self._clock:
            return self._spent + (time.monotonic() - self._since if self._since is not None else 0.0)

    def end(self) -> None:
        with self._clock:
            self._is_over = True
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _resume(self) -> None:
        with self._clock:
            self._num_active += 1
            if self._num_active > 1:
                # Within itself, or another thread that works for it: its time goes on already.
                return
        if self.turn is not None:
            self.turn.resume()
        self.thread = threading.get_native_id()
        with self._clock:
            self._since = time.monotonic()
            if self._timeout and self._timer is None and not self._is_over:
                self._arm(self._timeout - self._spent)

    def _pause(self) -> None:
        with self._clock:
            self._num_active -= 1
            if self._num_active:
                return
        self.thread = 0
        with self._clock:
            if self._since is not None:
                self._spent += time.monotonic() - self._since
                self._since = None
        if self.turn is not None:
            self.turn.pause()

    def _arm(self, seconds: float) -> None:
        self._timer = threading.Timer(max(seconds, _LEAST_SECONDS), self._look)
        self._timer.name, self._timer.daemon = "sharkpy-timeout", True
        self._timer.start()

    def _look(self) -> None:
        """Cancel the statement if its time would be up, had it worked all along."""
        with self._clock:
            self._timer = None
            if self._since is None or self._is_over:
                return
            spent = self._spent + time.monotonic() - self._since
            if spent < self._timeout:
                self._arm(self._timeout - spent)
                return
        limit = f"shark.query.timeout, or who sent it, allows it {self._timeout:g} s"
        self.cancel(StatementTimeoutError(f"the statement took too long: {limit}"))

"""Cancellation of a statement by another thread: a flag that long work checks between two steps.

A thread works for the statement that `active` has set for it. Loops that may take long call `check_cancelled`. Work
that cannot check the flag (a DuckDB query, a Spark job) registers a function with `on_cancel` that stops it.
"""

from __future__ import annotations

import contextlib
import contextvars
import copy
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

from sharkpy.base.errors import CancelledError, SharkError

T = TypeVar("T")
P = ParamSpec("P")
_POLL_SECONDS = 0.05


class Cancellation:
    """Cancellation of one statement. Any thread may call `cancel`; the statement raises the first error given.

    `text` is the statement without secrets, and `user` its user. Both are empty for other work.
    """

    def __init__(self) -> None:
        self.text = ""
        self.user = ""
        self._lock = threading.Lock()
        self._error: SharkError | None = None
        self._stops: list[Callable[[], None]] = []
        self._outer: Cancellation | None = None

    @property
    def whole(self) -> Cancellation:
        """The outermost statement that this one is a part of, or itself."""
        return self if self._outer is None else self._outer.whole

    @property
    def outer(self) -> Cancellation | None:
        """The statement that this one is a part of."""
        return self._outer

    @property
    def is_cancelled(self) -> bool:
        return self._error is not None

    @property
    def error(self) -> SharkError | None:
        """The error that ended the statement."""
        return self._error

    def cancel(self, error: SharkError | None = None) -> None:
        with self._lock:
            if self._error is not None:
                return
            self._error = error or CancelledError("the query was cancelled")
            stops = list(self._stops)
        for stop in stops:
            stop()

    def check(self) -> None:
        if self._error is not None:
            raise copy.copy(self._error)

    def on_cancel(self, stop: Callable[[], None]) -> Callable[[], None]:
        """Call `stop` when the statement is cancelled, or at once if it is already. The returned function unregisters
        it.
        """
        with self._lock:
            is_late = self._error is not None
            self._stops.append(stop)
        if is_late:
            stop()
        return lambda: self._forget(stop)

    def _forget(self, stop: Callable[[], None]) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._stops.remove(stop)

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Make this thread work for the statement within the block."""
        token = _current.set(self)
        try:
            yield
        except Exception:
            # The failure may be an effect of the cancellation: raise its error instead.
            self.check()
            raise
        finally:
            _current.reset(token)

    @contextlib.contextmanager
    def following(self, outer: Cancellation | None) -> Iterator[None]:
        """Within the block, this statement is a part of `outer` and is cancelled with it."""
        if outer is None:
            yield
            return
        forget, before = outer.on_cancel(lambda: self.cancel(outer.error)), self._outer
        self._outer = before if outer.whole is self else outer
        try:
            yield
        finally:
            self._outer = before
            forget()

    def steps(self, items: Generator[T]) -> Generator[T]:
        """Yield `items`. Each is computed as work for the statement; the reader's own work in between is not."""
        try:
            while True:
                with self.active():
                    try:
                        item = next(items)
                    except StopIteration:
                        return
                yield item
        finally:
            items.close()


_current: contextvars.ContextVar[Cancellation | None] = contextvars.ContextVar("sharkpy_cancellation", default=None)


def current_cancellation() -> Cancellation | None:
    """The statement that this thread works for."""
    return _current.get()


def check_cancelled() -> None:
    """Raise the error of the cancellation if the statement of this thread has been cancelled."""
    statement = _current.get()
    if statement is not None:
        statement.check()


def checked(items: Iterable[T]) -> Iterator[T]:
    """Yield `items` until the statement is cancelled."""
    for item in items:
        check_cancelled()
        yield item


def submit(executor: Executor, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """Submit a call to an executor. The call works for the statement of this thread."""
    context = contextvars.copy_context()
    return executor.submit(lambda: context.run(function, *args, **kwargs))


@contextlib.contextmanager
def cancellable_lock(lock: threading.Lock | threading.RLock) -> Iterator[None]:
    """Hold the lock. Waiting for it ends if the statement is cancelled."""
    while not lock.acquire(timeout=_POLL_SECONDS):
        check_cancelled()
    try:
        yield
    finally:
        lock.release()

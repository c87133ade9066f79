"""Requests to storage: many at once in one thread of the process, dropped as soon as their statement is ended."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable
from concurrent.futures import CancelledError, Future, wait
from typing import Any, TypeVar

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import InternalError
from sharkpy.sources.storage.meter import METER, Requested

T = TypeVar("T")
Call = Callable[[], Coroutine[Any, Any, T]]
_POLL_SECONDS = 0.05
_END_SECONDS = 1.0
_ONE = Requested(requests=1)


def answer(call: Call[T], give_up: Callable[[], object] | None = None) -> T:
    """Result of a call. Where the statement ends before, the call is dropped at once, or told by `give_up` to end."""
    future = _begun(call)
    return _result(future, give_up or future.cancel)


def in_turn(calls: Iterable[Call[T]], most: int) -> Generator[T]:
    """Results of calls in their order, of which at most `most` are under way; those that nobody reads are dropped."""
    waiting = deque[Future[T]]()
    try:
        for call in calls:
            waiting.append(_begun(call))
            if len(waiting) == most:
                yield _first(waiting)
        while waiting:
            yield _first(waiting)
    finally:
        for future in waiting:
            future.cancel()


def in_parallel(calls: Iterable[Call[T]], most: int) -> list[T]:
    """Results of calls in their order; the first failure drops the others."""
    return list(in_turn(calls, most))


def _first(waiting: deque[Future[T]]) -> T:
    future = waiting.popleft()
    return _result(future, future.cancel)


def _begun(call: Call[T]) -> Future[T]:
    check_cancelled()
    METER.add(_ONE)
    return asyncio.run_coroutine_threadsafe(call(), _thread.loop())


def _result(future: Future[T], give_up: Callable[[], object]) -> T:
    try:
        while not wait((future,), _POLL_SECONDS).done:
            check_cancelled()
    except BaseException:
        give_up()
        raise
    result = future.result()
    if isinstance(result, memoryview):
        METER.add(Requested(fetched_bytes=result.nbytes))
    return result


class _LoopThread:
    """Thread with an event loop, begun by the first request of the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_lost = False

    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop. InternalError in a process that was forked when there was one: neither this thread nor those of
        the libraries below are in it, and a request would wait for ever.
        """
        if self._is_lost:
            raise InternalError("a request to storage in a process that was forked after the first one")
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="sharkpy-storage", daemon=True).start()
                os.register_at_fork(after_in_child=self._note_fork)
                atexit.register(self._end)
            return self._loop

    def _note_fork(self) -> None:
        self._is_lost = True

    def _end(self) -> None:
        """Drop what is under way: threads of a library must not come back to an interpreter that has ended."""
        if self._loop is None or self._is_lost:
            return
        with contextlib.suppress(TimeoutError, CancelledError):
            asyncio.run_coroutine_threadsafe(_drop_all(), self._loop).result(_END_SECONDS)


async def _drop_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others)


_thread = _LoopThread()

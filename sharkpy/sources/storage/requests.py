"""Requests to storage, many at a time from one thread of the process. Cancelling a statement drops its requests."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable
from concurrent.futures import CancelledError, Future, wait
from pathlib import Path
from typing import Any, TypeVar

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import InternalError
from sharkpy.sources.storage.meter import METER, Requested

T = TypeVar("T")
Call = Callable[[], Coroutine[Any, Any, T]]
_POLL_SECONDS = 0.05
_END_SECONDS = 1.0
_REST_SECONDS = 0.002
_LIBRARY = "tokio"
"""Prefix of the names of the library's threads."""
_ONE = Requested(requests=1)


def answer(call: Call[T], give_up: Callable[[], object] | None = None) -> T:
    """Result of a call. If the statement is cancelled first, the call is dropped, or asked to end by `give_up`."""
    future = _begun(call)
    return _result(future, give_up or future.cancel)


def in_turn(calls: Iterable[Call[T]], most: int) -> Generator[T]:
    """Results of calls in their order, with at most `most` in flight. Calls whose results are not read are dropped."""
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


def again_and_again(call: Call[T], goes_on: Callable[[T], bool]) -> Generator[T]:
    """Results of a call that is repeated as long as `goes_on`.

    From the second on, the next call is made while the caller uses a result. Many callers need only the first.
    """
    found = answer(call)
    if goes_on(found):
        yield found
        found = answer(call)
    while goes_on(found):
        future = _begun(call)
        try:
            yield found
            found = _result(future, future.cancel)
        finally:
            future.cancel()
    yield found


def in_parallel(calls: Iterable[Call[T]], most: int) -> list[T]:
    """Results of calls in their order; the first failure drops the remaining calls."""
    return list(in_turn(calls, most))


def _first(waiting: deque[Future[T]]) -> T:
    future = waiting.popleft()
    return _result(future, future.cancel)


def _begun(call: Call[T]) -> Future[T]:
    check_cancelled()
    METER.add(_ONE)
    loop = _thread.loop()
    return asyncio.run_coroutine_threadsafe(call(), loop)


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
    """Thread with an event loop, started by the first request of the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_lost = False

    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop.

        InternalError in a process that was forked after the loop had started: this thread and the library's threads are
        missing there, and a request would wait for ever.
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
        """Drop the requests in flight, and wait until the library's threads are idle.

        A thread that returned to an interpreter that has ended would abort the process.
        """
        if self._loop is None or self._is_lost:
            return
        with contextlib.suppress(TimeoutError, CancelledError):
            asyncio.run_coroutine_threadsafe(_drop_all(), self._loop).result(_END_SECONDS)
        deadline, rests = time.monotonic() + _END_SECONDS, 0
        while rests < 2 and time.monotonic() < deadline:
            # Threads that wait for the interpreter's lock get it meanwhile.
            time.sleep(_REST_SECONDS)
            rests = 0 if _is_busy() else rests + 1


def _is_busy() -> bool:
    """True if a thread of the library runs, or waits for a core. False if the system does not tell."""
    with contextlib.suppress(OSError):
        for thread in Path("/proc/self/task").iterdir():
            with contextlib.suppress(OSError):
                name, _, state = Path(thread, "stat").read_text().partition("(")[2].rpartition(") ")
                if name.startswith(_LIBRARY) and not state.startswith("S"):
                    return True
    return False


async def _drop_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others)


_thread = _LoopThread()

"""Requests to storage, many at a time from one thread of the process. Cancelling a statement drops its requests.

`CallThreads` are for libraries whose calls block, `http_answer` is for small requests without obstore.
"""

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
from http.client import HTTPException
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import InternalError
from sharkpy.sources.storage.meter import METER, RequestCounts

T = TypeVar("T")
Call = Callable[[], Coroutine[Any, Any, T]]
_POLL_SECONDS = 0.05
_END_SECONDS = 1.0
_REST_SECONDS = 0.002
_LIBRARY = "tokio"
"""Prefix of the names of the library's threads."""
_ONE = RequestCounts(requests=1)


def result_of(call: Call[T], give_up: Callable[[], object] | None = None) -> T:
    """Result of a call. If the statement is cancelled first, the call is dropped, or asked to end by `give_up`."""
    future = _start(call)
    return _result(future, give_up or future.cancel)


def in_order(calls: Iterable[Call[T]], most: int) -> Generator[T]:
    """Results of calls in their order, with at most `most` in flight. Calls whose results are not read are dropped."""
    waiting = deque[Future[T]]()
    try:
        for call in calls:
            waiting.append(_start(call))
            if len(waiting) == most:
                yield _first(waiting)
        while waiting:
            yield _first(waiting)
    finally:
        for future in waiting:
            future.cancel()


def repeatedly(call: Call[T], goes_on: Callable[[T], bool]) -> Generator[T]:
    """Results of a call that is repeated as long as `goes_on`.

    From the second on, the next call is made while the caller uses a result. Many callers need only the first.
    """
    found = result_of(call)
    if goes_on(found):
        yield found
        found = result_of(call)
    while goes_on(found):
        future = _start(call)
        try:
            yield found
            found = _result(future, future.cancel)
        finally:
            future.cancel()
    yield found


def in_parallel(calls: Iterable[Call[T]], most: int) -> list[T]:
    """Results of calls in their order; the first failure drops the remaining calls."""
    return list(in_order(calls, most))


def _first(waiting: deque[Future[T]]) -> T:
    future = waiting.popleft()
    return _result(future, future.cancel)


def _start(call: Call[T]) -> Future[T]:
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
        METER.add(RequestCounts(fetched_bytes=result.nbytes))
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


class CallThreads:
    """At most `most` threads, each for one call. They are daemons, which do not delay the end of the process.

    An abandoned call keeps its thread until the library gives up. So a server that never answers can take all threads
    of its own store. Further calls then end by their time limit.
    """

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most)

    async def run(self, call: Callable[[], T]) -> T:
        """Result of a call in a thread; InternalError for a panic of the library."""
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def told(give: Callable[[], None]) -> None:
            self._free.release()
            if not answer.done():
                give()

        def work() -> None:
            try:
                result = call()
            except BaseException as error:  # noqa: BLE001  a panic is not an Exception
                failure = error if isinstance(error, Exception) else InternalError(f"a library failed: {error}")
                loop.call_soon_threadsafe(told, lambda: answer.set_exception(failure))
            else:
                loop.call_soon_threadsafe(told, lambda: answer.set_result(result))

        threading.Thread(target=work, name="sharkpy-storage-call", daemon=True).start()
        return await answer


_SECONDS = 10.0


def http_answer(request: Request, most_bytes: int) -> tuple[int, bytes]:
    """Status and body of the answer; at most `most_bytes` are read. OSError if there is no answer."""
    try:
        with build_opener(_NoRedirects).open(request, timeout=_SECONDS) as response:
            return response.status, response.read(most_bytes)
    except HTTPError as error:
        with error:
            return error.code, error.read(most_bytes)
    except HTTPException as error:
        raise ConnectionError(type(error).__name__) from None


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects: a signature is for one host."""

    def redirect_request(self, *_: object) -> None:
        return None

"""Calls in another thread: work that Ctrl-C interrupts at once, and library calls with a time limit.

Python handles signals only in the main thread, between two bytecode instructions. During a native call of a
minute it does not react for a minute. So another thread does the work, and the main thread only waits for it.
"""

from __future__ import annotations

import contextvars
import os
import queue
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, Generic, TypeVar

from sharkpy.base.cancellation import check_cancelled

T = TypeVar("T")
_LOOK_SECONDS = 0.1
_END_SECONDS = 0.2
"""Time that cancelled work has to end by itself before it is abandoned."""


class _Call(Generic[T]):
    """A call for the worker, and its result."""

    def __init__(self, work: Callable[[], T]) -> None:
        self.work: Callable[[], T] | None = work
        self.value: T | None = None
        self.error: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()

    def run(self) -> None:
        assert self.work is not None
        try:
            self.value = self.work()
        except BaseException as error:  # noqa: BLE001 - raised again in the main thread
            self.error = error
        finally:
            self.work = None
            self.done.release()

    def outcome(self) -> T:
        """Return the value or raise the error, and drop both: an error refers to the frames that refer to the call."""
        error, value, self.error, self.value = self.error, self.value, None, None
        if error is not None:
            try:
                raise error
            finally:
                del error
        return value  # type: ignore[return-value]


class _Worker:
    """A thread that runs calls one at a time."""

    def __init__(self) -> None:
        self.calls: queue.SimpleQueue[_Call[Any] | None] = queue.SimpleQueue()
        """None ends the thread."""
        threading.Thread(target=self._run, name="sharkpy-main", daemon=True).start()

    def _run(self) -> None:
        while (call := self.calls.get()) is not None:
            call.run()
            del call


_idle: list[_Worker] = []
"""The idle worker, if there is one."""

os.register_at_fork(after_in_child=_idle.clear)


def interruptible(work: Callable[[], T], cancel: Callable[[], object]) -> T:
    """Run `work`: return its result or raise its error.

    In the main thread, a signal whose handler raises (KeyboardInterrupt for Ctrl-C) calls `cancel` and is raised within
    a third of a second, even if `work` has not ended. In other threads, and if Python does not handle Ctrl-C, the
    calling thread does the work.
    """
    if threading.current_thread() is not threading.main_thread() or not callable(signal.getsignal(signal.SIGINT)):
        return work()
    worker = _idle.pop() if _idle else _Worker()
    context = contextvars.copy_context()
    call: _Call[T] = _Call(lambda: context.run(work))
    worker.calls.put(call)
    try:
        while not call.done.acquire(timeout=_LOOK_SECONDS):
            pass
    except BaseException:
        cancel()
        if call.done.acquire(timeout=_END_SECONDS):
            _idle.append(worker)
        else:
            worker.calls.put(None)
        raise
    _idle.append(worker)
    return call.outcome()


_POLL_SECONDS = 0.05


def bounded_call(call: Callable[[], T], seconds: float, grace: float = 0.0) -> T:
    """Return the result of `call`, or raise TimeoutError after `seconds`.

    The end of the statement also ends the wait, but not within the first `grace` seconds. After a timeout the thread
    runs on until the library gives up, so do not use the objects of the call again. The thread does not delay the end
    of the process.
    """
    answer: Future[T] = Future()
    answer.set_running_or_notify_cancel()

    def work() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:  # noqa: BLE001  raised again for the caller
            answer.set_exception(error)

    threading.Thread(target=work, name="sharkpy-call", daemon=True).start()
    began = time.monotonic()
    pause = min(grace, seconds)
    while not wait([answer], pause).done:
        check_cancelled()
        left = began + seconds - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"no answer for {seconds:g} s")
        pause = min(left, _POLL_SECONDS)
    return answer.result()

"""Call of a library that may never come back, though it has a time limit of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

from sharkpy.base.cancellation import check_cancelled

T = TypeVar("T")
_POLL_SECONDS = 0.05


def bounded_call(call: Callable[[], T], seconds: float, grace: float = 0.0) -> T:
    """Result of `call`; TimeoutError after so many seconds. The end of the statement ends the wait, too, but not within
    the first `grace` seconds.

    A call that nobody waits for any more keeps its thread until the library gives up: what it works with is not to be
    used again. Such a thread does not hold up the end of the process.
    """
    answer: Future[T] = Future()
    answer.set_running_or_notify_cancel()

    def work() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:  # noqa: BLE001  whoever waits has it
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

"""Time limit for a library call that may never return, even if the library has a time limit of its own."""

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

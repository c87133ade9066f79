"""Recursion on deeply nested input: run a function as it is, and again with much more stack."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from sharkpy.base.errors import ParseError

T = TypeVar("T")

_STACK_BYTES = 512 << 20
_FRAMES = 120_000
_lock = threading.Lock()


def with_deep_stack(function: Callable[[], T]) -> T:
    """Call `function`; if it recurses too deeply, call it once more in a thread with a large stack.

    ParseError if even that is too little. `function` must be free of effects until it returns.
    """
    try:
        return function()
    except RecursionError:
        pass
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(function())
        except BaseException as error:  # noqa: BLE001  handed to the caller's thread
            failure.append(error)

    # The recursion limit and the stack size of new threads belong to the whole process.
    with _lock:
        frames, stack_bytes = sys.getrecursionlimit(), threading.stack_size(_STACK_BYTES)
        sys.setrecursionlimit(_FRAMES)
        try:
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
        finally:
            sys.setrecursionlimit(frames)
            threading.stack_size(stack_bytes)
    if not failure:
        return outcome[0]
    if isinstance(failure[0], RecursionError):
        raise ParseError("the statement is nested too deeply", hint="write it with fewer nested parentheses")
    raise failure[0]

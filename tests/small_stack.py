"""Work in a thread with a stack of a given size: what recurses too deep ends the process there."""

from __future__ import annotations

import threading
from collections.abc import Callable


def with_stack(size: int, work: Callable[[], None]) -> None:
    """Do some work in a thread with a stack of `size` bytes, to its end."""
    usual = threading.stack_size(size)
    try:
        thread = threading.Thread(target=work)
        thread.start()
    finally:
        threading.stack_size(usual)
    thread.join()

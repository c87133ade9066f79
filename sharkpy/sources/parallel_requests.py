"""Parallel requests to servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sharkpy.base.cancellation import submit

T = TypeVar("T")
Item = TypeVar("Item")
AT_ONCE = 16


def parallel_map(make: Callable[[Item], T], items: Sequence[Item], at_once: int = AT_ONCE) -> list[T]:
    """Results of `make` for each item, in order. The first failure is raised, and items that have not begun are
    skipped.

    The threads are for waiting on servers: computing does not get faster with them.
    """
    if len(items) < 2 or at_once < 2:
        return [make(item) for item in items]
    with ThreadPoolExecutor(min(at_once, len(items)), thread_name_prefix="sharkpy-ask") as pool:
        made = [submit(pool, make, item) for item in items]
        try:
            return [one.result() for one in made]
        finally:
            for one in made:
                one.cancel()

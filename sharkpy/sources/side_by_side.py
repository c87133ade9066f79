"""Questions to servers, several at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sharkpy.base.cancellation import submit

T = TypeVar("T")
Item = TypeVar("Item")
AT_ONCE = 16


def side_by_side(make: Callable[[Item], T], items: Sequence[Item], at_once: int = AT_ONCE) -> list[T]:
    """What `make` gives for each item, in their order. The first failure is raised; what has not begun then never does.

    Threads wait for answers here: work that computes gains nothing by it.
    """
    if len(items) < 2:
        return [make(item) for item in items]
    with ThreadPoolExecutor(min(at_once, len(items)), thread_name_prefix="sharkpy-ask") as pool:
        made = [submit(pool, make, item) for item in items]
        try:
            return [one.result() for one in made]
        finally:
            for one in made:
                one.cancel()

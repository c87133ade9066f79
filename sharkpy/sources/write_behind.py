"""Writing in parallel with making the next items."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_Item = TypeVar("_Item")


def written_behind(items: Iterable[_Item], write: Callable[[_Item], object]) -> Generator[_Item]:
    """Write `items` in order, and yield each item that was passed to `write`.

    All items except the last are written by another thread, while the next one is made. At the end all have been
    written. An error of `write` is raised.
    """
    source = iter(items)
    item = next(source, None)
    if item is None:
        return
    pool: ThreadPoolExecutor | None = None
    try:
        while (following := next(source, None)) is not None:
            if pool is None:
                pool = ThreadPoolExecutor(1, "sharkpy-write")
                written: Future[object] = pool.submit(write, item)
            else:
                written.result()
                written = pool.submit(write, item)
            yield item
            item = following
        if pool is not None:
            written.result()
        write(item)
        yield item
    finally:
        if pool is not None:
            pool.shutdown(wait=True)

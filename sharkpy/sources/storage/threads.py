"""Threads for the blocking calls of a library, which cannot be cancelled while they wait for an answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from sharkpy.base.errors import InternalError

T = TypeVar("T")


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

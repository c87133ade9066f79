"""Calls to a store, within its limits, with failures converted to the engine's errors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sharkpy.sources.storage.errors import StoreName, storage_failure
from sharkpy.sources.storage.host_guard import HostGuard
from sharkpy.sources.storage.requests import Call
from sharkpy.sources.storage.store import StoreLimits

T = TypeVar("T")


class StoreCalls:
    """Base of all stores: their name, limits, and calls to their library. `guard` checks the hosts of requests."""

    def __init__(self, name: StoreName, limits: StoreLimits, guard: HostGuard | None = None) -> None:
        self.name = name
        self.limits = limits
        self._guard = guard
        self._under_way = asyncio.Semaphore(limits.requests)

    def failures(self) -> tuple[type[Exception], ...]:
        """Errors that the store's library raises."""
        raise NotImplementedError

    def has_folder(self, path: str) -> bool:  # noqa: ARG002  for stores without folders
        return False

    def asking(self, path: str, call: Callable[[], Awaitable[T]], is_bounded: bool = True) -> Call[T]:
        """A call about `path` within the store's limits; its failure is raised as the engine's error."""
        seconds = self.limits.timeout_seconds if is_bounded else None
        return lambda: self._asked(path, call, seconds)

    async def _asked(self, path: str, call: Callable[[], Awaitable[T]], seconds: float | None) -> T:
        async with self._under_way:
            started = time.monotonic()
            try:
                async with asyncio.timeout(seconds):
                    if self._guard is not None:
                        await self._guard.check()
                    return await call()
            except self.failures() as error:
                raise storage_failure(error, path, self.name, time.monotonic() - started) from None

"""Watch of this process's memory, which cancels the largest statement before the kernel's OOM killer acts."""

from __future__ import annotations

import ctypes
import gc
import logging
import math
import sys
import threading
import time
from collections.abc import Callable, Sequence

from sharkpy.base.errors import ResourceError
from sharkpy.base.settings import PROCESS_MEMORY, QUERY_MEMORY
from sharkpy.columnar.host import machine_memory, private_memory, thread_ticks
from sharkpy.execution.statement import Statement

_LOOK_SECONDS = 0.1
_NOTICED_BYTES = 8 << 20
"""Smallest change between two looks that is counted."""
_LEFT_BYTES = 64 << 20
"""Smallest number of bytes of ended statements worth returning to the system."""
_PATIENCE_SECONDS = 3.0
"""Time for a cancelled statement to free its memory before another is cancelled. The allocators take seconds."""
_FAIR_SHARES = 2
"""Divisor of an equal share of the excess: cancelling a statement with less would not help."""
_GIVE_BACK_SECONDS = 1.0
_REST_SECONDS = 5.0
"""Seconds without work after which the process is at rest."""
_OTHER_MEMORY_BYTES = 512 << 20
_log = logging.getLogger(__name__)


class MemoryWatch:
    """Watch in a thread of its own, from `start` to `close`. `limit` is in bytes, 0 means three fifths of the memory.

    1. The process's growth is counted to the statements that work meanwhile, by the CPU time of their threads.
    2. Above the limit, the statement with most memory ends with ResourceError 53200, then the next one, unless enough
       is freed in time. A statement with little of the excess did not cause it and continues.
    3. A statement with its own limit ends if the process has grown by far more than the limit while only it worked.
    4. Memory that ended statements leave unused is returned to the system: much of it at once, the rest at rest.
    """

    def __init__(self, limit: int, statements: Callable[[], list[Statement]]) -> None:
        self.limit = limit or machine_memory() * 3 // 5
        self.held = private_memory()
        """Bytes held by the process at the last look."""
        self._statements = statements
        self._counted = self.held
        """Bytes that are counted to statements, or were held before them."""
        self._ticks: dict[int, int] = {}
        """CPU ticks of the statements' threads when growth was last counted, by thread."""
        self._known: dict[int, int] = {}
        """Bytes counted to each statement at the last look, by its number."""
        self._left = 0
        """Bytes counted to ended statements that the process still holds."""
        self._ended: dict[int, float] = {}
        """Time at which each statement was cancelled for its memory."""
        self._given_back = -math.inf
        self._calm_since: float | None = None
        """Time at which the process was first idle with more memory than at its last rest."""
        self._rested = self.held
        """Bytes held by the process at its last rest."""
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sharkpy-memory", daemon=True)

    def start(self) -> None:
        if self.held:
            self._thread.start()

    def close(self) -> None:
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._closed.wait(_LOOK_SECONDS):
            try:
                self.look(private_memory())
            except Exception:  # noqa: BLE001 - the next look may succeed
                _log.exception("the memory of the process could not be looked at")

    def look(self, held: int) -> None:
        """Count the change since the last look, and act on it. `held` is in bytes."""
        self.held = held
        change = held - self._counted
        is_noticed = abs(change) >= _NOTICED_BYTES
        if not (is_noticed or self._known or held > self.limit or self._left >= _LEFT_BYTES):
            # The usual case: nothing to do, so the sessions are not asked for their statements.
            self._ticks.clear()
            self._rest()
            return
        self._calm_since = None
        statements = self._statements()
        self._note_ended(statements)
        if is_noticed:
            self._count(statements, change)
        for statement in statements:
            if statement.alone_bytes > _alone_limit(statement.memory_limit) and not statement.is_cancelled:
                self._end_over_its_own(statement)
        if self.held > self.limit:
            self._relieve(statements)
        elif self._left >= _LEFT_BYTES and self._may_give_back:
            self._give_back()

    # Counting memory to statements

    def _note_ended(self, statements: Sequence[Statement]) -> None:
        present = {one.number for one in statements}
        self._left += sum(size for number, size in self._known.items() if number not in present)
        self._known = {number: size for number, size in self._known.items() if number in present}
        self._ended = {number: when for number, when in self._ended.items() if number in present}

    def _count(self, statements: Sequence[Statement], change: int) -> None:
        # Read each statement's thread once: the statement may start or end meanwhile.
        working = [(one, thread) for one in statements if (thread := one.thread)]
        ticks = {thread: thread_ticks(thread) for _, thread in working}
        if change < 0:
            self._debit(statements, -change)
        elif working and not self._ticks and self.held <= self.limit:
            # The CPU time from now on will tell which statement grows.
            self._ticks = ticks
            return
        elif working:
            self._credit(working, ticks, change)
        self._ticks = ticks
        self._counted = self.held
        self._known = {one.number: one.grown_bytes for one in statements if one.grown_bytes}

    def _credit(self, working: Sequence[tuple[Statement, int]], ticks: dict[int, int], size: int) -> None:
        """Count growth to working statements by the CPU time of their threads since the last look."""
        # Add one tick for threads that wait for other threads, such as DuckDB's.
        spent = [1 + ticks[thread] - self._ticks.get(thread, ticks[thread]) for _, thread in working]
        for (statement, _), share in zip(working, spent, strict=True):
            statement.grown_bytes += size * share // sum(spent)
            statement.figures.note_memory(statement.grown_bytes)
        if len(working) == 1:
            working[0][0].alone_bytes += size

    def _debit(self, statements: Sequence[Statement], size: int) -> None:
        """Subtract freed bytes from ended statements, then from all running ones in proportion."""
        gone = min(size, self._left)
        self._left -= gone
        size -= gone
        total = sum(one.grown_bytes for one in statements)
        for statement in statements:
            if total:
                statement.grown_bytes -= min(size, total) * statement.grown_bytes // total
            statement.alone_bytes = min(statement.alone_bytes, statement.grown_bytes)

    # Acting on it

    def _relieve(self, statements: Sequence[Statement]) -> None:
        """Cancel the statement with most memory, unless the ending statements hold enough."""
        now = time.monotonic()
        if self._may_give_back:
            gc.collect()
            self._give_back()
            if self.held <= self.limit:
                return
        running = [one for one in statements if one.number not in self._ended and one.grown_bytes >= _NOTICED_BYTES]
        ending = [one for one in statements if now - self._ended.get(one.number, -math.inf) < _PATIENCE_SECONDS]
        too_much = self.held - self._left - sum(one.grown_bytes for one in ending) - self.limit
        if not running or too_much <= 0:
            return
        # Among equals choose the newest, because the others kept within the limit so far.
        chosen = max(running, key=lambda one: (one.grown_bytes, one.number))
        if chosen.grown_bytes * _FAIR_SHARES * len(running) < too_much:
            return
        fact = f"the server's process holds {self.held:,} bytes, {PROCESS_MEMORY.key} allows {self.limit:,}"
        self._end(chosen, f"{fact}, and about {chosen.grown_bytes:,} of them are this statement's")

    def _end_over_its_own(self, statement: Statement) -> None:
        fact = f"the server's process has grown by {statement.alone_bytes:,} bytes for this statement alone"
        self._end(statement, f"{fact}, {QUERY_MEMORY.key} allows {statement.memory_limit:,}")

    def _end(self, statement: Statement, fact: str) -> None:
        self._ended[statement.number] = time.monotonic()
        _log.warning("statement %s is ended: %s", statement.query_id, fact)
        hint = "let the statement read or create less at once"
        statement.cancel(ResourceError(f"out of memory: {fact}", hint=hint, sqlstate="53200"))

    def _rest(self) -> None:
        """Return unused memory after a while without work; many small statements leave it."""
        if self.held - self._rested < _LEFT_BYTES:
            return
        now = time.monotonic()
        if self._calm_since is None:
            self._calm_since = now
        if now - self._calm_since < _REST_SECONDS:
            return
        self._calm_since = None
        if not self._statements():
            self._give_back()
            self._rested = self.held

    @property
    def _may_give_back(self) -> bool:
        return time.monotonic() - self._given_back >= _GIVE_BACK_SECONDS

    def _give_back(self) -> None:
        """Let the allocators return unused memory, which they keep for later requests."""
        before = self.held
        give_back_memory()
        self._given_back = time.monotonic()
        self.held = self._counted = private_memory()
        # Assume that other statements have taken a part of what remains.
        self._left = max(0, self._left - max(before - self.held, 0)) * 3 // 4


def _alone_limit(limit: int) -> float:
    """Growth that a statement may cause: DuckDB keeps its limit, but other parts need memory too."""
    return max(2 * limit, limit + _OTHER_MEMORY_BYTES) if limit else math.inf


def give_back_memory() -> None:
    """Return unused memory of Arrow and the C library to the system."""
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)

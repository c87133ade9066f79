"""Memory of the DuckDB databases of one process, divided among the databases with running queries."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import Protocol

CALM_SECONDS = 1.0
"""Seconds after a database's use until other databases get its memory.

It is often used again soon, as by epochs between readers, and each change of a limit takes a statement.
"""


class SharingDatabase(Protocol):
    @property
    def wanted_memory(self) -> int:
        """Limit on its memory if no other database is in use."""

    @property
    def memory_limit(self) -> int:
        """Current limit."""

    def limit_memory(self, size: int) -> None: ...


class MemoryShares:
    """Shares of `total` bytes: each database gets what it wants, or less if the databases in use want more.

    `enter` and `leave` enclose each of its queries. A limit falls at once. It rises only if no other database has gone
    out of use for CALM_SECONDS.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._lock = threading.Lock()
        self._in_use: Counter[SharingDatabase] = Counter()
        self._shared_at = -math.inf
        """Time when more than one query was last seen."""
        self._left_at = -math.inf
        """Time when the use of a database last ended while other databases were in use."""
        self._timer: threading.Timer | None = None
        """Timer that raises the limits of databases in use."""

    @property
    def num_queries(self) -> int:
        return self._in_use.total()

    def had_others(self, began: float) -> bool:
        """Whether a finished query that began at `began`, by time.monotonic(), shared the memory with other queries.

        It did if other queries run now, ran at the same time, or ended so recently that they still have their share.
        """
        return self.num_queries > 0 or self._shared_at >= began or self._left_at >= began - CALM_SECONDS

    def enter(self, database: SharingDatabase) -> None:
        with self._lock:
            self._in_use[database] += 1
            self._note_sharing()
            if self._in_use[database] == 1:
                self._divide()

    def leave(self, database: SharingDatabase) -> None:
        with self._lock:
            self._note_sharing()
            self._in_use[database] -= 1
            if not self._in_use[database]:
                del self._in_use[database]
                if self._in_use:
                    self._left_at = time.monotonic()
                    self._divide()

    def _note_sharing(self) -> None:
        if self.num_queries > 1:
            self._shared_at = time.monotonic()

    def _divide(self) -> None:
        wanted = sum(database.wanted_memory for database in self._in_use)
        left = self._left_at + CALM_SECONDS - time.monotonic()
        for database in self._in_use:
            own = database.wanted_memory
            share = own if wanted <= self._total else own * self._total // wanted
            if left <= 0 or share < database.memory_limit:
                database.limit_memory(share)
            elif share > database.memory_limit:
                self._divide_later(left)

    def _divide_later(self, seconds: float) -> None:
        if self._timer is not None:
            return
        timer = threading.Timer(seconds, self._divide_again)
        timer.name, timer.daemon = "sharkpy-memory", True
        # No thread is available, or the interpreter is ending: the next query tries again.
        with suppress(RuntimeError):
            timer.start()
            self._timer = timer

    def _divide_again(self) -> None:
        with self._lock:
            self._timer = None
            self._divide()

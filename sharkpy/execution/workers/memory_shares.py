"""Memory of the DuckDB databases of one process: those with running queries share what there is."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import Protocol

CALM_SECONDS = 1.0
"""Time behind the end of a database's use, beside others, until these have more memory: mostly it is used again soon,
as by epochs beside readers, and each change of a limit takes a statement of its database.
"""


class SharingDatabase(Protocol):
    @property
    def wanted_memory(self) -> int:
        """Limit of its memory where no other database is in use."""

    @property
    def memory_limit(self) -> int:
        """Limit of now."""

    def limit_memory(self, size: int) -> None: ...


class MemoryShares:
    """Shares of `total` bytes: each database has what it wants, or less where those in use want more together.

    `enter` and `leave` enclose each of its queries. A limit falls at once, and rises where none has been left for a
    while by others in use.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._lock = threading.Lock()
        self._in_use: Counter[SharingDatabase] = Counter()
        self._shared_at = -math.inf
        """When more than one query was seen last."""
        self._left_at = -math.inf
        """When the use of a database ended last while others were in use."""
        self._timer: threading.Timer | None = None
        """Begins to raise limits of databases that are in use."""

    @property
    def num_queries(self) -> int:
        return self._in_use.total()

    def had_others(self, began: float) -> bool:
        """Whether a query that has left, and began then by time.monotonic(), was not alone, or came right behind others
        that still have their share; nor is it alone, had it begun to work only now.
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
        # The system has no thread to give, or the interpreter ends: the next query that begins or ends tries it again.
        with suppress(RuntimeError):
            timer.start()
            self._timer = timer

    def _divide_again(self) -> None:
        with self._lock:
            self._timer = None
            self._divide()

"""Memory of the DuckDB databases of one process: those with running queries share what there is."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from typing import Protocol


class SharingDatabase(Protocol):
    @property
    def wanted_memory(self) -> int:
        """Limit of its memory where no other database is in use."""

    def limit_memory(self, size: int) -> None: ...


class MemoryShares:
    """Shares of `total` bytes: each database has what it wants, or less where those in use want more together.

    `enter` and `leave` enclose each of its queries.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._lock = threading.Lock()
        self._in_use: Counter[SharingDatabase] = Counter()
        self._shared_at = -math.inf
        """When more than one query was seen last."""

    @property
    def num_queries(self) -> int:
        return self._in_use.total()

    def had_others(self, began: float) -> bool:
        """Whether a query that has left, and began then by time.monotonic(), was not alone; nor is it, had it begun to
        work only now.
        """
        return self.num_queries > 0 or self._shared_at >= began

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
                self._divide()

    def _note_sharing(self) -> None:
        if self.num_queries > 1:
            self._shared_at = time.monotonic()

    def _divide(self) -> None:
        wanted = sum(database.wanted_memory for database in self._in_use)
        for database in self._in_use:
            own = database.wanted_memory
            database.limit_memory(own if wanted <= self._total else own * self._total // wanted)

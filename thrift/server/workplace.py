"""Parts of a server that its running operations share: threads, the limit on rows made ahead, and the board."""

from __future__ import annotations

import threading
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sharkpy.thrift.work_board import WorkBoard


class BufferedBytes:
    """Bytes of rows that all operations hold for their readers. The limit is `most`; 0 means no limit."""

    def __init__(self, most: int = 0) -> None:
        self.held = 0
        self._most = most
        self._lock = threading.Lock()

    @property
    def is_full(self) -> bool:
        return 0 < self._most <= self.held

    def change(self, size: int) -> None:
        with self._lock:
            self.held += size


@dataclass(frozen=True, slots=True)
class Workplace:
    executor: Executor
    buffered: BufferedBytes = field(default_factory=BufferedBytes)
    board: WorkBoard | None = None
    """Board on which threads note the operation for which they work."""

"""Board of the statements for which threads work, in memory that the guard process reads without this process."""

from __future__ import annotations

import contextlib
import mmap
import os
import threading
from collections import deque
from collections.abc import Iterator

SLOTS = 1024
SLOT_BYTES = 128
_THREAD_BYTES = 8


class WorkBoard:
    """A slot for each working thread: its number in the system, eight bytes little-endian, and the statement's title.

    A slot of thread 0 is free. If no slot is free, a thread is not on the board.
    """

    def __init__(self) -> None:
        self.file = os.memfd_create("sharkpy-work")
        os.ftruncate(self.file, SLOTS * SLOT_BYTES)
        self._memory = mmap.mmap(self.file, SLOTS * SLOT_BYTES)
        self._free = deque(range(SLOTS))

    @contextlib.contextmanager
    def working(self, title: str) -> Iterator[None]:
        """Note that this thread works for a statement in the context."""
        try:
            start = self._free.pop() * SLOT_BYTES
        except IndexError:
            yield
            return
        text = title.encode("utf-8", "replace")[: SLOT_BYTES - _THREAD_BYTES]
        thread = threading.get_native_id().to_bytes(_THREAD_BYTES, "little")
        self._memory[start : start + SLOT_BYTES] = (thread + text).ljust(SLOT_BYTES, b"\0")
        try:
            yield
        finally:
            self._memory[start : start + _THREAD_BYTES] = bytes(_THREAD_BYTES)
            self._free.append(start // SLOT_BYTES)

    def close(self) -> None:
        self._memory.close()
        os.close(self.file)

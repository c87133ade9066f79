"""Blocks that this process keeps mapped between tasks."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

from sharkpy.base.errors import CorruptionError
from sharkpy.columnar.block import Block
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.host import is_beside

MAX_OPEN_BLOCKS = 12_000
"""Part of the 65,530 mappings that Linux allows a process."""
_CHECKED_AFTER = 512
"""Number of openings after which all open blocks are checked, at the latest."""


class BlockMissingError(CorruptionError):
    """A block has no file left: it has to be rebuilt."""

    sqlstate = "58030"


_Place = tuple[int, int, int, int]


class BlockCache:
    """Mapped blocks by id, least recently used first.

    A block whose file was moved or overwritten is mapped again. This frees its memory and verifies its checksums again.
    """

    def __init__(self, limit: int = MAX_OPEN_BLOCKS) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._open: OrderedDict[str, tuple[Block, str, _Place]] = OrderedDict()
        self._opened_since_check = 0

    def open(self, handle: BlockHandle) -> Block:
        """Open a block from memory, from its place after eviction, or from its durable copy, in this order.

        Raise BlockMissingError if it has no file, or CorruptionError if the structure of every copy is damaged.
        """
        with self._lock:
            found = self._open.get(handle.block_id)
            if found is not None and _place(found[1]) == found[2]:
                self._open.move_to_end(handle.block_id)
                return found[0]
        block, place = _open_first(handle)
        with self._lock:
            self._opened_since_check += 1
            if self._opened_since_check >= min(len(self._open), _CHECKED_AFTER):
                self._drop_moved()
            self._open[handle.block_id] = (block, block.path, place)
            while len(self._open) > self._limit:
                self._open.popitem(last=False)
        return block

    def forget(self, block_id: str) -> None:
        with self._lock:
            self._open.pop(block_id, None)

    def clear(self) -> None:
        with self._lock:
            self._open.clear()

    def __len__(self) -> int:
        return len(self._open)

    def _drop_moved(self) -> None:
        """Unmap blocks whose files were moved. `open` calls this once in as many openings as there are blocks, or
        sooner.
        """
        self._opened_since_check = 0
        moved = [block_id for block_id, (_, path, place) in self._open.items() if _place(path) != place]
        for block_id in moved:
            del self._open[block_id]


def _place(path: str) -> _Place | None:
    try:
        stat = Path(path).stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def _open_first(handle: BlockHandle) -> tuple[Block, _Place]:
    damage: CorruptionError | None = None
    memory_path = handle.memory_path if is_beside(handle.host) else ""
    for path in (memory_path, handle.durable_path):
        if not path or (place := _place(path)) is None:
            continue
        try:
            return Block.open(path), place
        except FileNotFoundError:
            continue
        except CorruptionError as error:
            damage = error
    raise damage or BlockMissingError.of_block(handle.block_id, "missing")


_CACHE = BlockCache()


def open_block(handle: BlockHandle) -> Block:
    """Return the block. Each process maps and verifies it once."""
    return _CACHE.open(handle)


def forget_block(block_id: str) -> None:
    """Unmap a block that is damaged or removed."""
    _CACHE.forget(block_id)

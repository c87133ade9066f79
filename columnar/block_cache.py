"""Caches of a process: blocks that stay mapped between tasks, and their columns in the form that queries scan."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sharkpy.base.errors import CorruptionError
from sharkpy.columnar.block import Block
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.host import is_same_host

if TYPE_CHECKING:
    AnyArray = pa.Array[Any]

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
    memory_path = handle.memory_path if is_same_host(handle.host) else ""
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


_BLOCKS = BlockCache()


def open_block(handle: BlockHandle) -> Block:
    """Return the block. Each process maps and verifies it once."""
    return _BLOCKS.open(handle)


def forget_block(block_id: str) -> None:
    """Unmap a block that is damaged or removed."""
    _BLOCKS.forget(block_id)


DEFAULT_LIMIT = 256 << 20
_ENTRY_BYTES = 512
"""Overhead of an entry. An entry whose buffers are all in the mapped block still takes memory."""


class ColumnCache:
    """Arrays made from columns of blocks, least recently used first. Threads may share it.

    1. The cache holds at most `limit` bytes. Bytes in the mapped file of a block are not counted.
    2. An entry never outlives its Block: unmapping a moved or removed block frees its entries.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._size = 0
        # Reentrant: a Block may be finalized, and drop its entries, wherever memory is allocated.
        self._lock = threading.RLock()
        self._entries: OrderedDict[tuple[int, Hashable], tuple[AnyArray, int]] = OrderedDict()
        self._keys: dict[int, set[Hashable]] = {}

    @property
    def limit(self) -> int:
        return self._limit

    @limit.setter
    def limit(self, limit: int) -> None:
        with self._lock:
            self._limit = limit
            self._shrink()

    @property
    def size_bytes(self) -> int:
        return self._size

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, block: Block, key: Hashable, make: Callable[[], AnyArray]) -> AnyArray:
        """Return the cached array for `key` of `block`, or call `make` and cache its result."""
        found = self.find(block, key)
        return self.put(block, key, make()) if found is None else found

    def find(self, block: Block, key: Hashable) -> AnyArray | None:
        """Return the cached array for `key` of `block`, or None."""
        place = (id(block), key)
        with self._lock:
            found = self._entries.get(place)
            if found is None:
                return None
            self._entries.move_to_end(place)
            return found[0]

    def put(self, block: Block, key: Hashable, made: AnyArray) -> AnyArray:
        """Cache and return `made`."""
        size = _ENTRY_BYTES + sum(buffer.size for buffer in array_buffers(made) if not block.maps(buffer))
        if size <= self._limit:
            self._keep(block, (id(block), key), made, size)
        return made

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._keys = {token: set() for token in self._keys}
            self._size = 0

    def _keep(self, block: Block, place: tuple[int, Hashable], made: AnyArray, size: int) -> None:
        token, key = place
        with self._lock:
            if place in self._entries:
                return
            if token not in self._keys:
                self._keys[token] = set()
                weakref.finalize(block, self._forget, token).atexit = False
            self._keys[token].add(key)
            self._entries[place] = (made, size)
            self._size += size
            self._shrink()

    def _shrink(self) -> None:
        while self._size > self._limit and self._entries:
            (token, key), (_, size) = self._entries.popitem(last=False)
            self._size -= size
            self._keys[token].discard(key)

    def _forget(self, token: int) -> None:
        with self._lock:
            for key in self._keys.pop(token, ()):
                entry = self._entries.pop((token, key), None)
                self._size -= entry[1] if entry is not None else 0


def array_buffers(array: AnyArray) -> Iterator[pa.Buffer]:
    """Yield the buffers of an array and of its dictionary."""
    yield from (buffer for buffer in array.buffers() if buffer is not None)
    if isinstance(array, pa.DictionaryArray):
        yield from array_buffers(array.dictionary)


_COLUMNS = ColumnCache()


def column_cache() -> ColumnCache:
    """Return the cache of this process."""
    return _COLUMNS

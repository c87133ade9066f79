"""Cache of block columns in the form that queries scan, per process."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from sharkpy.columnar.block import Block

    AnyArray = pa.Array[Any]

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
        place = (id(block), key)
        with self._lock:
            found = self._entries.get(place)
            if found is not None:
                self._entries.move_to_end(place)
                return found[0]
        made = make()
        size = _ENTRY_BYTES + sum(buffer.size for buffer in array_buffers(made) if not block.maps(buffer))
        if size <= self._limit:
            self._keep(block, place, made, size)
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


_CACHE = ColumnCache()


def column_cache() -> ColumnCache:
    """Return the cache of this process."""
    return _CACHE

"""Mending: whole copies of blocks in the place of lost or damaged ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa

from sharkpy.base.errors import CorruptionError, WorkersDiedError
from sharkpy.columnar.block import Block
from sharkpy.columnar.block_cache import forget_block
from sharkpy.columnar.handle import BlockHandle

Rewrite = Callable[[BlockHandle, memoryview], None]
"""Puts the bytes of a block where its handle says they are."""


def mended(handle: BlockHandle, rewrite: Rewrite) -> bool:
    """Make a block's copies whole again from one that is; False where none is."""
    paths = _paths(handle)
    whole = [path for path in paths if _is_whole(path, handle)]
    if whole and len(whole) < len(paths):
        rewrite(handle, mapped(whole[0]))
    elif not whole:
        forget_block(handle.block_id)
    return bool(whole)


def tells_of_damage(error: BaseException, handles: Iterable[BlockHandle]) -> bool:
    """Whether the error of a job that reads these blocks is one of lost or damaged blocks.

    Who reads a mapped file that is cut short dies, and tells of nothing: where workers have died, the blocks are looked
    at.
    """
    if isinstance(error, WorkersDiedError):
        return not all(_is_whole(path, handle) for handle in handles for path in _paths(handle))
    return isinstance(error, CorruptionError) and error.block_id is not None


def mapped(path: str) -> memoryview:
    """The bytes of a file, mapped for as long as the view lives."""
    with pa.memory_map(path, "r") as file:
        return memoryview(file.read_buffer(file.size())).cast("B")


def _paths(handle: BlockHandle) -> list[str]:
    # What lies in another host's memory is that host's to look after.
    memory_path = "" if handle.host else handle.memory_path
    return [path for path in (memory_path, handle.durable_path) if path]


def _is_whole(path: str, handle: BlockHandle) -> bool:
    try:
        block = Block.open(path)
        block.verify()
    except (OSError, CorruptionError):
        return False
    return block.num_rows == handle.num_rows

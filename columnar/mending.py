"""Repair: replace lost or damaged copies of blocks by intact ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa

from sharkpy.base.errors import CorruptionError, WorkersDiedError
from sharkpy.columnar.block import Block
from sharkpy.columnar.block_cache import forget_block
from sharkpy.columnar.handle import BlockHandle

Rewrite = Callable[[BlockHandle, memoryview], None]
"""Writes the bytes of a block to the files of its handle."""


def mended(handle: BlockHandle, rewrite: Rewrite) -> bool:
    """Restore a block's copies from an intact one. Return False if there is none."""
    paths = _paths(handle)
    whole = [path for path in paths if _is_whole(path, handle)]
    if whole and len(whole) < len(paths):
        rewrite(handle, mapped(whole[0]))
    elif not whole:
        forget_block(handle.block_id)
    return bool(whole)


def tells_of_damage(error: BaseException, handles: Iterable[BlockHandle]) -> bool:
    """Return whether a job that reads these blocks failed because of lost or damaged blocks.

    Reading a truncated mapped file kills the worker without a message. So if workers died, the blocks are checked.
    """
    if isinstance(error, WorkersDiedError):
        return not all(_is_whole(path, handle) for handle in handles for path in _paths(handle))
    return isinstance(error, CorruptionError) and error.block_id is not None


def mapped(path: str) -> memoryview:
    """Return the bytes of a file, mapped as long as the view lives."""
    with pa.memory_map(path, "r") as file:
        return memoryview(file.read_buffer(file.size())).cast("B")


def _paths(handle: BlockHandle) -> list[str]:
    # Each host checks its own memory.
    memory_path = "" if handle.host else handle.memory_path
    return [path for path in (memory_path, handle.durable_path) if path]


def _is_whole(path: str, handle: BlockHandle) -> bool:
    try:
        block = Block.open(path)
        block.verify()
    except (OSError, CorruptionError):
        return False
    return block.num_rows == handle.num_rows

"""Reads of blocks that make lost or damaged blocks again, in the task, and then read on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from sharkpy.base.errors import CorruptionError
from sharkpy.columnar.handle import BlockHandle

if TYPE_CHECKING:
    from sharkpy.execution.tasks.inputs import TaskData

_Read = TypeVar("_Read")
_Made = TypeVar("_Made")


def rebuilding(make: Callable[[], _Made], handles: Iterable[BlockHandle], data: TaskData) -> _Made:
    """Return what `make` makes from blocks. It runs again after the task has rebuilt a lost or damaged block."""
    by_id = {handle.block_id: handle for handle in handles}
    while True:
        try:
            return make()
        except CorruptionError as error:
            # Each block is made again at most once.
            damaged = by_id.pop(error.block_id or "", None)
            if damaged is None:
                raise
            rebuild_for(error, damaged, data)


def read_or_rebuild(read: Callable[[BlockHandle], _Read], handle: BlockHandle, data: TaskData) -> _Read:
    """Read the block. If it was lost or damaged and the task can rebuild it, read it again."""
    try:
        return read(handle)
    except CorruptionError as error:
        rebuild_for(error, handle, data)
        return read(handle)


def rebuild_for(error: CorruptionError, handle: BlockHandle, data: TaskData) -> None:
    """Rebuild the block of `error`; raise `error` if the task cannot."""
    if data.rebuild is None or not data.rebuild(handle):
        raise error

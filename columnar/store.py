"""The block store of a session, which keeps its blocks under a hard limit of shared memory and repairs lost or
damaged copies.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from sharkpy.base.errors import CorruptionError, WorkersDiedError
from sharkpy.base.records import dataclass
from sharkpy.columnar import block_folders
from sharkpy.columnar.block import Block
from sharkpy.columnar.block_cache import BlockMissingError, forget_block, open_block
from sharkpy.columnar.block_folders import OwnedFolder, sweep_orphans
from sharkpy.columnar.block_writer import BlockWriter
from sharkpy.columnar.handle import BlockHandle

__all__ = [
    "BlockMissingError",
    "BlockStore",
    "BlockWriter",
    "StoreUsage",
    "forget_block",
    "open_block",
    "sweep_orphans",
]

_FEW = 16
"""Number of unused blocks that a call releases itself; a thread releases the rest."""


@dataclass(frozen=True, slots=True)
class StoreUsage:
    """Bytes in shared memory and in the local folder, and numbers of known and evicted blocks."""

    memory_bytes: int
    local_bytes: int
    memory_limit: int
    num_blocks: int
    num_evicted: int


class BlockStore:
    """Owner of a session's blocks, in the driver. Threads may share it.

    1. The store's folders under `shm_dir` and `local_dir` end with the process. Folders of dead processes are swept.
    2. Blocks in shared memory never exceed `memory_limit` bytes. The least recently used are evicted to the local
       folder, or to their durable copy. Their handles stay valid.
    3. Blocks that were written but not adopted are evicted last and removed with the store.
    """

    def __init__(self, memory_limit: int, shm_dir: str, local_dir: str, *, is_shared: bool = False) -> None:
        """Create a store. If `is_shared`, tasks on other hosts read the blocks, from copies in the local folder."""
        self.memory_limit = memory_limit
        self._is_shared = is_shared
        for directory in (shm_dir, local_dir):
            sweep_orphans(directory)
        self._memory = OwnedFolder(shm_dir)
        try:
            self._local = OwnedFolder(local_dir)
        except Exception:
            self._memory.close()
            raise
        self._lock = threading.RLock()
        self._blocks: OrderedDict[str, BlockHandle] = OrderedDict()
        self._num_evicted = 0
        self._outside: set[str] = set()
        """Ids of blocks that are read from a disk."""
        self._unused: deque[tuple[BlockHandle, bool]] = deque()
        self._retired: dict[str, BlockHandle] = {}
        self._releasing = threading.Thread()

    @property
    def memory_dir(self) -> str:
        return self._memory.path

    @property
    def local_dir(self) -> str:
        return self._local.path

    def writer(self) -> BlockWriter:
        copies_dir = self._local.path if self._is_shared else None
        return BlockWriter(self._memory.path, self._local.path, self.memory_limit, copies_dir)

    def adopt(self, handles: Iterable[BlockHandle]) -> None:
        """Add blocks that tasks wrote, as the most recently used."""
        with self._lock:
            self._release_some()
            for handle in handles:
                self._blocks[handle.block_id] = handle
                self._blocks.move_to_end(handle.block_id)
                self._note_place(handle)

    def restore(self, handles: Iterable[BlockHandle]) -> tuple[BlockHandle, ...]:
        """Add durable blocks of an earlier session. Return their handles with their places in this store."""
        restored = []
        for handle in handles:
            path = str(Path(self._memory.path, handle.block_id + block_folders.SUFFIX))
            if handle.durable_path is None:
                raise BlockMissingError(f'block "{handle.block_id}" has no durable copy')
            block_folders.link(handle.durable_path, path)
            restored.append(replace(handle, memory_path=path))
        self.adopt(restored)
        return tuple(restored)

    def touch(self, handles: Iterable[BlockHandle]) -> None:
        """Mark blocks as used now."""
        with self._lock:
            self._release_some()
            for handle in handles:
                if handle.block_id in self._blocks:
                    self._blocks.move_to_end(handle.block_id)

    def release(self, block_ids: Iterable[str], *, durable: bool = False) -> None:
        """Remove blocks, with their durable copies if `durable`. Readers that have mapped them are not affected."""
        with self._lock:
            for block_id in block_ids:
                handle = self._blocks.pop(block_id, None)
                name = block_id + block_folders.SUFFIX
                block_folders.remove(str(Path(self._memory.path, name)))
                block_folders.remove(str(Path(self._local.path, name)))
                if durable and handle is not None and handle.durable_path is not None:
                    block_folders.remove(handle.durable_path)
                self._outside.discard(block_id)
                forget_block(block_id)

    def retire(self, handles: Iterable[BlockHandle], *, durable: bool = False) -> None:
        """Release blocks once no query holds their handles."""
        with self._lock:
            for handle in handles:
                kept = replace(handle)
                if handle.block_id in self._blocks:
                    self._blocks[handle.block_id] = kept
                if durable:
                    self._retired[handle.block_id] = kept
                # A finalizer may run anywhere, also inside this store's own code: only record the handle.
                weakref.finalize(handle, self._unused.append, (kept, durable)).atexit = False

    def _release_some(self) -> None:
        """Release a few unused blocks now, and the rest in a thread, so that no query waits for thousands of
        deletions.
        """
        for _ in range(min(len(self._unused), _FEW)):
            self._release_one()
        if self._unused and not self._releasing.is_alive():
            self._releasing = threading.Thread(target=self._release_rest, name="sharkpy-release", daemon=True)
            self._releasing.start()

    def _release_rest(self) -> None:
        while self._unused:
            with self._lock:
                if self._unused:
                    self._release_one()

    def _release_unused(self) -> None:
        while self._unused:
            self._release_one()

    def _release_one(self) -> None:
        handle, durable = self._unused.popleft()
        self._retired.pop(handle.block_id, None)
        known = self._blocks.get(handle.block_id)
        if known is handle:
            self.release([handle.block_id], durable=durable)
        elif known is None and durable and handle.durable_path is not None:
            block_folders.remove(handle.durable_path)

    def mend(self, handle: BlockHandle) -> bool:
        """Restore a block's copies from an intact one. Return False if there is none."""
        with self._lock:
            return repair_copies(handle, self.rewrite)

    def rewrite(self, handle: BlockHandle, content: memoryview) -> None:
        """Write the rebuilt bytes of a block to the files of its handle. Raise ResourceError if there is no room."""
        if handle.durable_path is not None:
            Path(handle.durable_path).parent.mkdir(parents=True, exist_ok=True)
        # Outside the lock, so that blocks are synced in parallel.
        self.writer().rewrite_copy(handle, content)
        with self._lock:
            if not handle.host:
                self.writer().replace(handle, content)
                self._note_place(handle)
            forget_block(handle.block_id)

    def rewrite_from(self, handle: BlockHandle, made: BlockHandle) -> None:
        """Write the bytes of the block `made`, which holds the same rows, to the files of `handle`."""
        path = made.durable_path if made.durable_path and (made.host or not made.memory_path) else made.memory_path
        self.rewrite(handle, mapped_bytes(path))

    def claim(self, prefix: str) -> None:
        """Allow writers with `prefix` to store blocks, until `release_unreported`."""
        block_folders.make_claim(self._local.path, prefix)

    def release_unreported(self, prefix: str, told: Iterable[BlockHandle], durable_dir: str | None) -> None:
        """Remove blocks of the writers with `prefix` that no task reported: the task failed, or another attempt was
        faster.

        Tasks that are still writing remove their blocks themselves.
        """
        block_folders.drop_claim(self._local.path, prefix)
        known = {handle.block_id for handle in told}
        for folder in filter(None, (self._memory.path, self._local.path, durable_dir)):
            for path in Path(folder).glob(f"{prefix}*{block_folders.SUFFIX}"):
                if path.name.removesuffix(block_folders.SUFFIX) not in known:
                    block_folders.remove(str(path))

    def enforce_limit(self) -> list[str]:
        """Evict the least recently used blocks until memory is within its limit. Return their ids."""
        return self.make_room(0)

    def make_room(self, size_bytes: int) -> list[str]:
        """Evict blocks until `size_bytes` more fit, or no evictable block is left. Return their ids.

        Raise ResourceError if the local folder is full. Blocks that were evicted before stay evicted.
        """
        evicted: list[str] = []
        most = self.memory_limit - size_bytes
        with self._lock:
            self._release_unused()
            used = block_folders.counted_bytes(self._memory.path, most)
            if used <= most:
                return evicted
            used -= block_folders.remove_abandoned(self._memory.path)
            for block_id in list(self._blocks):
                if used <= most:
                    break
                freed = self._evict(self._blocks[block_id])
                if freed:
                    used -= freed
                    evicted.append(block_id)
            self._num_evicted += len(evicted)
        return evicted

    def is_in_memory(self, handle: BlockHandle) -> bool:
        path = Path(handle.memory_path)
        return path.is_file() and not path.is_symlink()

    def num_outside(self, handles: Iterable[BlockHandle]) -> int:
        """Return how many of the blocks are read from a disk, since they were evicted or had no room in memory.

        It takes no lock and looks at no file, as each scan calls it.
        """
        return sum(handle.block_id in self._outside for handle in handles) if self._outside else 0

    def _note_place(self, handle: BlockHandle) -> None:
        if not handle.host and Path(handle.memory_path).is_symlink():
            self._outside.add(handle.block_id)
        else:
            self._outside.discard(handle.block_id)

    def usage(self) -> StoreUsage:
        with self._lock:
            self._release_unused()
            block_folders.remove_abandoned(self._memory.path)
            return StoreUsage(
                block_folders.used_bytes(self._memory.path),
                block_folders.used_bytes(self._local.path),
                self.memory_limit,
                len(self._blocks),
                self._num_evicted,
            )

    def close(self) -> None:
        """Remove all files that are not durable."""
        with self._lock:
            self._release_unused()
            for handle in self._retired.values():
                if handle.durable_path is not None:
                    block_folders.remove(handle.durable_path)
            for block_id in self._blocks:
                forget_block(block_id)
            self._blocks.clear()
            self._outside.clear()
            self._memory.close()
            self._local.close()

    def _evict(self, handle: BlockHandle) -> int:
        """Move a block out of memory. Return the bytes freed, or 0 if it was not in memory."""
        path = handle.memory_path
        if handle.host or not self.is_in_memory(handle):
            return 0
        target = handle.durable_path
        if target is None or not Path(target).exists():
            target = str(Path(self._local.path, Path(path).name))
            block_folders.write_file(target, mapped_bytes(path))
        # If the link fails, the block stays in memory. Its copy is removed with it, or is used the next time.
        block_folders.link(target, path)
        self._outside.add(handle.block_id)
        forget_block(handle.block_id)
        return handle.size_bytes


Rewrite = Callable[[BlockHandle, memoryview], None]
"""Writes the bytes of a block to the files of its handle."""


def repair_copies(handle: BlockHandle, rewrite: Rewrite) -> bool:
    """Restore a block's copies from an intact one. Return False if there is none."""
    paths = _paths(handle)
    whole = [path for path in paths if _is_whole(path, handle)]
    if whole and len(whole) < len(paths):
        rewrite(handle, mapped_bytes(whole[0]))
    elif not whole:
        forget_block(handle.block_id)
    return bool(whole)


def is_caused_by_damage(error: BaseException, handles: Iterable[BlockHandle]) -> bool:
    """Return whether a job that reads these blocks failed because of lost or damaged blocks.

    Reading a truncated mapped file kills the worker without a message. So if workers died, the blocks are checked.
    """
    if isinstance(error, WorkersDiedError):
        return not all(_is_whole(path, handle) for handle in handles for path in _paths(handle))
    return isinstance(error, CorruptionError) and error.block_id is not None


def mapped_bytes(path: str) -> memoryview:
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

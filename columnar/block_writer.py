"""Writing of blocks by tasks in any process of the machine, within the store's limit."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sharkpy.base.errors import ResourceError
from sharkpy.columnar import store_folder
from sharkpy.columnar.block import EncodedBlock
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.store_folder import Piece


@dataclass(frozen=True, slots=True)
class BlockWriter:
    """Writer of blocks into a store's folders. Picklable, since tasks in other processes use it.

    1. A block is in shared memory while the limit has room. Otherwise `memory_path` is a link to a file in the local
       folder, or to the durable copy.
    2. With `copies_dir`, a folder shared by all hosts, blocks without a durable copy get one there.
    3. A failed write leaves no file. Raise ResourceError if neither place has room.
    4. The ids of the blocks start with `prefix`, by which the blocks of a failed task are found. If the store has
       already released this prefix, the task has outlived its statement: raise ExecutionError and store nothing.
    """

    memory_dir: str
    local_dir: str
    memory_limit: int
    copies_dir: str | None = None
    prefix: str = ""

    def write(self, encoded: EncodedBlock, durable_dir: str | None = None, *, is_synced: bool = True) -> BlockHandle:
        """Store a block. With `durable_dir`, a copy is written there first; the caller syncs it unless `is_synced`."""
        block_id = self.prefix + uuid.uuid4().hex
        durable_path = None
        if durable_dir is None:
            durable_dir, is_synced = self.copies_dir, False
        if durable_dir is not None:
            Path(durable_dir).mkdir(parents=True, exist_ok=True)
            durable_path = str(Path(durable_dir, block_id + store_folder.SUFFIX))
            store_folder.write_file(durable_path, *encoded.pieces, sync=is_synced)
        try:
            memory_path = self.place(block_id, encoded.pieces, durable_path)
            store_folder.check_claim(self.local_dir, self.prefix)
        except Exception:
            self._remove(block_id, durable_path)
            raise
        sizes = encoded.column_bytes
        return BlockHandle(block_id, encoded.num_rows, encoded.size_bytes, memory_path, durable_path, sizes)

    def place(self, block_id: str, pieces: Sequence[Piece], durable_path: str | None) -> str:
        """Put a block's bytes in memory, or in another file with a link to it if there is no room. Return the path."""
        name = block_id + store_folder.SUFFIX
        path = str(Path(self.memory_dir, name))
        try:
            if self._write_to_memory(block_id, path, pieces):
                return path
            if durable_path is not None:
                store_folder.link(durable_path, path)
            else:
                self._write_behind_link(str(Path(self.local_dir, name)), path, pieces)
        except OSError as error:
            raise store_folder.storage_error(path, error) from None
        return path

    def remove(self, handle: BlockHandle) -> None:
        """Remove the files that `write` stored."""
        self._remove(handle.block_id, handle.durable_path)

    def _remove(self, block_id: str, durable_path: str | None) -> None:
        name = block_id + store_folder.SUFFIX
        for path in (str(Path(self.memory_dir, name)), str(Path(self.local_dir, name)), durable_path):
            if path is not None:
                store_folder.remove(path)

    def rewrite(self, handle: BlockHandle, content: memoryview) -> None:
        """Write the rebuilt bytes of a block to the files of its handle. Raise ResourceError if there is no room.

        A removed folder of durable blocks is not created again: its table may be dropped.
        """
        self.rewrite_copy(handle, content)
        self.replace(handle, content)

    def rewrite_copy(self, handle: BlockHandle, content: memoryview) -> None:
        """Rewrite the durable copy, if the block has one."""
        if handle.durable_path is not None:
            store_folder.write_file(handle.durable_path, content, sync=True)

    def replace(self, handle: BlockHandle, content: memoryview) -> None:
        """Replace a block's file in memory, or the file that it was evicted to."""
        target = str(Path(self.local_dir, handle.block_id + store_folder.SUFFIX))
        if target != handle.durable_path:
            store_folder.remove(target)
        store_folder.remove(handle.memory_path)
        self.place(handle.block_id, (content,), handle.durable_path)

    def _write_behind_link(self, target: str, path: str, pieces: Sequence[Piece]) -> None:
        store_folder.write_file(target, *pieces)
        try:
            store_folder.link(target, path)
        except Exception:
            store_folder.remove(target)
            raise

    def _write_to_memory(self, block_id: str, path: str, pieces: Sequence[Piece]) -> bool:
        size = sum(map(len, pieces))
        temporary = store_folder.reserve(self.memory_dir, block_id, size, self.memory_limit)
        if temporary is None:
            return False
        try:
            store_folder.write_file(path, *pieces, temporary=temporary)
        except ResourceError:
            return False
        return True

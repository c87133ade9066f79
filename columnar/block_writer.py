"""Writing of blocks by tasks: into the store's folders on the driver's host, or into the memory of an executor on
another host, with a copy that every host can read.
"""

from __future__ import annotations

import contextlib
import functools
import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

from sharkpy.base.errors import ExecutionError, ResourceError
from sharkpy.base.records import dataclass
from sharkpy.columnar import block_folders
from sharkpy.columnar.block import EncodedBlock
from sharkpy.columnar.block_cache import forget_block
from sharkpy.columnar.block_folders import Piece, folder_of_process, sweep_orphans
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.host import machine_memory, this_executor


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
            durable_path = str(Path(durable_dir, block_id + block_folders.SUFFIX))
            block_folders.write_file(durable_path, *encoded.pieces, sync=is_synced)
        try:
            memory_path = self.place(block_id, encoded.pieces, durable_path)
            block_folders.check_claim(self.local_dir, self.prefix)
        except Exception:
            self._remove(block_id, durable_path)
            raise
        sizes = encoded.column_bytes
        return BlockHandle(block_id, encoded.num_rows, encoded.size_bytes, memory_path, durable_path, sizes)

    def place(self, block_id: str, pieces: Sequence[Piece], durable_path: str | None) -> str:
        """Put a block's bytes in memory, or in another file with a link to it if there is no room. Return the path."""
        name = block_id + block_folders.SUFFIX
        path = str(Path(self.memory_dir, name))
        try:
            if self._write_to_memory(block_id, path, pieces):
                return path
            if durable_path is not None:
                block_folders.link(durable_path, path)
            else:
                self._write_behind_link(str(Path(self.local_dir, name)), path, pieces)
        except OSError as error:
            raise block_folders.storage_error(path, error) from None
        return path

    def remove(self, handle: BlockHandle) -> None:
        """Remove the files that `write` stored."""
        self._remove(handle.block_id, handle.durable_path)

    def _remove(self, block_id: str, durable_path: str | None) -> None:
        name = block_id + block_folders.SUFFIX
        for path in (str(Path(self.memory_dir, name)), str(Path(self.local_dir, name)), durable_path):
            if path is not None:
                block_folders.remove(path)

    def rewrite(self, handle: BlockHandle, content: memoryview) -> None:
        """Write the rebuilt bytes of a block to the files of its handle. Raise ResourceError if there is no room.

        A removed folder of durable blocks is not created again: its table may be dropped.
        """
        self.rewrite_copy(handle, content)
        self.replace(handle, content)

    def rewrite_copy(self, handle: BlockHandle, content: memoryview) -> None:
        """Rewrite the durable copy, if the block has one."""
        if handle.durable_path is not None:
            block_folders.write_file(handle.durable_path, content, sync=True)

    def replace(self, handle: BlockHandle, content: memoryview) -> None:
        """Replace a block's file in memory, or the file that it was evicted to."""
        target = str(Path(self.local_dir, handle.block_id + block_folders.SUFFIX))
        if target != handle.durable_path:
            block_folders.remove(target)
        block_folders.remove(handle.memory_path)
        self.place(handle.block_id, (content,), handle.durable_path)

    def _write_behind_link(self, target: str, path: str, pieces: Sequence[Piece]) -> None:
        block_folders.write_file(target, *pieces)
        try:
            block_folders.link(target, path)
        except Exception:
            block_folders.remove(target)
            raise

    def _write_to_memory(self, block_id: str, path: str, pieces: Sequence[Piece]) -> bool:
        size = sum(map(len, pieces))
        temporary = block_folders.reserve(self.memory_dir, block_id, size, self.memory_limit)
        if temporary is None:
            return False
        try:
            block_folders.write_file(path, *pieces, temporary=temporary)
        except ResourceError:
            return False
        return True


_KEEPER = """\
import os, select, shutil, sys
try:
    end = select.poll()
    end.register(os.pidfd_open(int(sys.argv[1])), select.POLLIN)
    end.poll()
except ProcessLookupError:
    pass
shutil.rmtree(sys.argv[2], ignore_errors=True)
"""
"""Program that waits for the end of an executor and removes its folder, however the executor ended."""

_COPY = ".copy"
"""Suffix of the link from a block in memory to its copy, in the same folder."""


@dataclass(frozen=True, slots=True)
class ExecutorWriter:
    """Writer of blocks in tasks on hosts other than the driver's. Picklable.

    1. A block is written to `durable_dir`, or to `copies_dir`, on the file system that all hosts share. Tasks on other
       hosts and the driver read this copy, so the loss of an executor loses no data.
    2. The block is also held in this host's memory, up to `memory_limit` bytes per executor (0: a third of the
       machine's memory). If room is short, blocks that the driver has dropped are removed first, then the oldest.
    3. The folder in memory belongs to the executor's process and is removed when that ends.
    4. `prefix` is as in BlockWriter.
    """

    shm_dir: str
    copies_dir: str
    memory_limit: int
    prefix: str = ""

    def write(self, encoded: EncodedBlock, durable_dir: str | None = None, *, is_synced: bool = True) -> BlockHandle:
        """Store a block. Its handle names this host."""
        block_id = self.prefix + uuid.uuid4().hex
        folder = Path(durable_dir or self.copies_dir)
        folder.mkdir(parents=True, exist_ok=True)
        copy = str(folder / (block_id + block_folders.SUFFIX))
        block_folders.write_file(copy, *encoded.pieces, sync=is_synced and durable_dir is not None)
        memory_path = self._keep(block_id, encoded, copy)
        try:
            block_folders.check_claim(self.copies_dir, self.prefix)
        except ExecutionError:
            block_folders.remove(copy)
            if memory_path:
                drop_from_memory(memory_path)
            raise
        sizes = encoded.column_bytes
        host = this_executor().host
        return BlockHandle(block_id, encoded.num_rows, encoded.size_bytes, memory_path, copy, sizes, host=host)

    def remove(self, handle: BlockHandle) -> None:
        """Remove the files that `write` stored on this host."""
        if handle.durable_path is not None:
            block_folders.remove(handle.durable_path)
        if handle.memory_path:
            drop_from_memory(handle.memory_path)

    def _keep(self, block_id: str, encoded: EncodedBlock, copy: str) -> str:
        """Put the block in this host's memory and return its path, or "" if there is no room even after a cleanup."""
        try:
            folder = executor_folder(self.shm_dir)
            limit = self.memory_limit or machine_memory() // 3
            temporary = block_folders.reserve(folder, block_id, encoded.size_bytes, limit)
            if temporary is None:
                _make_room(folder, limit - encoded.size_bytes)
                temporary = block_folders.reserve(folder, block_id, encoded.size_bytes, limit)
            if temporary is None:
                return ""
            path = Path(folder, block_id + block_folders.SUFFIX)
            block_folders.write_file(str(path), *encoded.pieces, temporary=temporary)
            path.with_suffix(_COPY).symlink_to(copy)
        except (OSError, ExecutionError):
            # Without room in memory, the block is read from its copy.
            return ""
        return str(path)


def _make_room(folder: str, allowed: int) -> None:
    """Remove blocks from memory until `allowed` bytes are used: dropped blocks first, then the oldest."""
    with contextlib.suppress(OSError):
        block_folders.remove_abandoned(folder)
        blocks = sorted(Path(folder).glob(f"*{block_folders.SUFFIX}"), key=_age)
        used = block_folders.used_bytes(folder)
        for path in blocks:
            if used <= allowed:
                return
            size = path.stat().st_size
            drop_from_memory(str(path))
            used -= size


def _age(path: Path) -> tuple[bool, int]:
    """Sort key: blocks without a copy first, then by time."""
    return path.with_suffix(_COPY).exists(), path.stat().st_mtime_ns


def drop_from_memory(memory_path: str) -> None:
    """Remove a block from this host's memory. Its copy stays."""
    path = Path(memory_path)
    block_folders.remove(str(path))
    block_folders.remove(str(path.with_suffix(_COPY)))
    forget_block(path.stem)


@functools.cache
def executor_folder(shm_dir: str) -> str:
    """Return the folder in memory of this process's executor, created at first use."""
    executor = this_executor()
    path = folder_of_process(shm_dir, executor.pid)
    if not Path(path).is_dir():
        sweep_orphans(shm_dir)
        if block_folders.make_folder(path):
            _watch(executor.pid, path)
    return path


def _watch(pid: int, folder: str) -> None:
    """Start a process that removes the folder when the executor ends. If that fails, the next sweep removes it."""
    with contextlib.suppress(OSError):
        command = [sys.executable, "-I", "-S", "-c", _KEEPER, str(pid), folder]
        null = subprocess.DEVNULL
        # In a session of its own, since the worker daemon ends its whole process group by a signal.
        keeper = subprocess.Popen(command, stdin=null, stdout=null, stderr=null, start_new_session=True, cwd="/")
        # It outlives this process, which does not wait for it.
        keeper.returncode = 0

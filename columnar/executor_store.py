"""Blocks in the memory of executors on other hosts, each with a copy that every host can read."""

from __future__ import annotations

import contextlib
import functools
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

from sharkpy.base.errors import ExecutionError
from sharkpy.columnar import store_folder
from sharkpy.columnar.block import EncodedBlock
from sharkpy.columnar.block_cache import forget_block
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.host import machine_memory, this_executor
from sharkpy.columnar.store_folder import folder_of_process, sweep_orphans

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
        copy = str(folder / (block_id + store_folder.SUFFIX))
        store_folder.write_file(copy, *encoded.pieces, sync=is_synced and durable_dir is not None)
        memory_path = self._keep(block_id, encoded, copy)
        try:
            store_folder.check_claim(self.copies_dir, self.prefix)
        except ExecutionError:
            store_folder.remove(copy)
            if memory_path:
                drop_from_memory(memory_path)
            raise
        sizes = encoded.column_bytes
        host = this_executor().host
        return BlockHandle(block_id, encoded.num_rows, encoded.size_bytes, memory_path, copy, sizes, host=host)

    def remove(self, handle: BlockHandle) -> None:
        """Remove the files that `write` stored on this host."""
        if handle.durable_path is not None:
            store_folder.remove(handle.durable_path)
        if handle.memory_path:
            drop_from_memory(handle.memory_path)

    def _keep(self, block_id: str, encoded: EncodedBlock, copy: str) -> str:
        """Put the block in this host's memory and return its path, or "" if there is no room even after a cleanup."""
        try:
            folder = executor_folder(self.shm_dir)
            limit = self.memory_limit or machine_memory() // 3
            temporary = store_folder.reserve(folder, block_id, encoded.size_bytes, limit)
            if temporary is None:
                _make_room(folder, limit - encoded.size_bytes)
                temporary = store_folder.reserve(folder, block_id, encoded.size_bytes, limit)
            if temporary is None:
                return ""
            path = Path(folder, block_id + store_folder.SUFFIX)
            store_folder.write_file(str(path), *encoded.pieces, temporary=temporary)
            path.with_suffix(_COPY).symlink_to(copy)
        except (OSError, ExecutionError):
            # Without room in memory, the block is read from its copy.
            return ""
        return str(path)


def _make_room(folder: str, allowed: int) -> None:
    """Remove blocks from memory until `allowed` bytes are used: dropped blocks first, then the oldest."""
    with contextlib.suppress(OSError):
        store_folder.remove_abandoned(folder)
        blocks = sorted(Path(folder).glob(f"*{store_folder.SUFFIX}"), key=_age)
        used = store_folder.used_bytes(folder)
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
    store_folder.remove(str(path))
    store_folder.remove(str(path.with_suffix(_COPY)))
    forget_block(path.stem)


@functools.cache
def executor_folder(shm_dir: str) -> str:
    """Return the folder in memory of this process's executor, created at first use."""
    executor = this_executor()
    path = folder_of_process(shm_dir, executor.pid)
    if not Path(path).is_dir():
        sweep_orphans(shm_dir)
        if store_folder.make_folder(path):
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

"""Folders of blocks: a session's own, locked while its owner lives and limited by its total size, and a table's
folder of durable blocks, which sessions share.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import os
import shutil
import struct
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from sharkpy.base.errors import ConfigurationError, ExecutionError, ResourceError

if TYPE_CHECKING:
    import pyarrow as pa

Piece: TypeAlias = "memoryview | pa.Buffer"
"""Bytes of a file, in successive pieces."""
_PREFIX = "sharkpy-store-"
_FRESH = ".new-"
_OWNER = "owner"
_LOCK = "lock"
"""File that is locked, and stores the number of bytes counted."""
_COUNT = struct.Struct("<q")
_CLAIM = "claim"
SUFFIX = ".arrow"
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def process_start(pid: int) -> int | None:
    """Return the start of the process in kernel ticks since boot, or None if it does not run."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            fields = stat.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else int(fields[19])


class OwnedFolder:
    """A folder under `parent` that belongs to this process until `close`."""

    def __init__(self, parent: str) -> None:
        pid = os.getpid()
        name = f"{_PREFIX}{pid}-{process_start(pid) or 0}-{uuid.uuid4().hex[:8]}"
        fresh = Path(parent, _FRESH + name)
        try:
            fresh.mkdir(mode=0o700, parents=True)
            self._owner = os.open(fresh / _OWNER, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._owner, fcntl.LOCK_EX)
            (fresh / _LOCK).touch(mode=0o600)
            self.path = str(Path(parent, name))
            fresh.rename(self.path)
        except OSError as error:
            raise ConfigurationError(f'cannot keep blocks in "{parent}": {error.strerror}') from None
        self._pid = pid

    def close(self) -> None:
        """Remove the folder. A forked child only releases the lock."""
        if self._owner < 0:
            return
        if os.getpid() == self._pid:
            shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._owner)
        self._owner = -1


def folder_of_process(parent: str, pid: int) -> str:
    """Return the path of a folder that belongs to another process as long as that lives."""
    return str(Path(parent, f"{_PREFIX}{pid}-{process_start(pid) or 0}-executor"))


def make_folder(path: str) -> bool:
    """Make such a folder. Return False if another process was faster. Raise ConfigurationError if it cannot be made."""
    fresh = Path(path).with_name(f"{_FRESH}{Path(path).name}-{uuid.uuid4().hex[:8]}")
    try:
        fresh.mkdir(mode=0o700, parents=True)
        (fresh / _LOCK).touch(mode=0o600)
        fresh.rename(path)
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        if Path(path).is_dir():
            return False
        raise ConfigurationError(f'cannot keep blocks in "{Path(path).parent}": {error.strerror}') from None
    return True


def sweep_orphans(directory: str) -> list[str]:
    """Remove the folders in `directory` whose owner is dead. Return their paths."""
    removed: list[str] = []
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        for entry in list(os.scandir(directory)):
            name = entry.name.removeprefix(_FRESH)
            if name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False) and _is_orphan(entry.path, name):
                shutil.rmtree(entry.path, ignore_errors=True)
                removed.append(entry.path)
    return removed


def _is_orphan(path: str, name: str) -> bool:
    """Return whether the process in the folder's name is dead and no process holds the folder's lock."""
    try:
        pid, start = (int(field) for field in name.removeprefix(_PREFIX).split("-")[:2])
    except ValueError:
        return False
    if process_start(pid) == start:
        return False
    try:
        owner = os.open(Path(path, _OWNER), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(owner)
    return True


@contextlib.contextmanager
def locked(folder: str) -> Iterator[None]:
    """Hold the folder's lock, across threads and processes."""
    with _locked(str(Path(folder, _LOCK)), os.O_RDWR):
        yield


@contextlib.contextmanager
def locked_file(path: str) -> Iterator[None]:
    """Hold the lock of a file across threads and processes. Create the file if it does not exist."""
    with _locked(path, os.O_RDWR | os.O_CREAT):
        yield


@contextlib.contextmanager
def _locked(path: str, flags: int, kind: int = fcntl.LOCK_EX) -> Iterator[int]:
    """Hold the lock of a file, which is open in the body."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, kind)
        yield descriptor
    finally:
        os.close(descriptor)


def used_bytes(folder: str) -> int:
    """Return the bytes of the files in the folder, with room that writers have reserved. Links count as nothing."""
    total = 0
    for entry in os.scandir(folder):
        with contextlib.suppress(FileNotFoundError):
            is_counted = entry.is_file(follow_symlinks=False) and entry.name != _LOCK
            total += entry.stat(follow_symlinks=False).st_size if is_counted else 0
    return total


def counted_bytes(folder: str, most: int) -> int:
    """Return the bytes of the files in the folder, or an upper bound that is at most `most`.

    The stored count grows with every reservation and does not shrink, so it may be too high. The files are counted only
    if it exceeds `most`.
    """
    with _locked(str(Path(folder, _LOCK)), os.O_RDONLY, fcntl.LOCK_SH) as lock:
        return _counted_bytes(folder, lock, most)


def _counted_bytes(folder: str, lock: int, most: int) -> int:
    noted = os.pread(lock, _COUNT.size, 0)
    counted = int(_COUNT.unpack(noted)[0]) if len(noted) == _COUNT.size else most + 1
    return counted if counted <= most else used_bytes(folder)


def reserve(folder: str, block_id: str, size: int, limit: int) -> str | None:
    """Create a file of `size` empty bytes to reserve room in the folder, or return None if the limit leaves no room."""
    with _locked(str(Path(folder, _LOCK)), os.O_RDWR) as lock:
        counted = _counted_bytes(folder, lock, limit - size) + size
        if counted > limit:
            return None
        try:
            # Before the file exists: if the writer is killed, the count is too high, which is corrected near the limit.
            os.pwrite(lock, _COUNT.pack(counted), 0)
        except OSError:
            return None
        path = Path(folder, f".{block_id}.{_writer(os.getpid())}.tmp")
        try:
            with path.open("xb") as file:
                file.truncate(size)
        except OSError:
            remove(str(path))
            raise
        return str(path)


@functools.lru_cache(maxsize=1)
def _writer(pid: int) -> str:
    """Return the name of this process in the names of unfinished files."""
    return f"{pid}-{process_start(pid)}"


def remove_abandoned(folder: str) -> int:
    """Remove unfinished files whose writer is dead. Return their total size."""
    freed = 0
    for entry in list(os.scandir(folder)):
        if not entry.name.endswith(".tmp"):
            continue
        pid, _, start = entry.name.split(".")[-2].partition("-")
        if pid.isdigit() and start.isdigit() and process_start(int(pid)) != int(start):
            with contextlib.suppress(FileNotFoundError):
                freed += entry.stat(follow_symlinks=False).st_size
            remove(entry.path)
    return freed


def make_claim(folder: str, prefix: str) -> None:
    """Mark blocks whose ids start with `prefix` as wanted, until the claim is dropped."""
    path = Path(folder, prefix + _CLAIM)
    try:
        path.touch(mode=0o600)
    except OSError as error:
        raise storage_error(str(path), error) from None


def drop_claim(folder: str, prefix: str) -> None:
    """Withdraw a claim. From now on writers remove such blocks themselves, and a later removal finds the rest."""
    remove(str(Path(folder, prefix + _CLAIM)))


def check_claim(folder: str, prefix: str) -> None:
    """Raise ExecutionError if the claim of a block has been dropped. Call this with the block's file in place."""
    if prefix and not Path(folder, prefix + _CLAIM).exists():
        raise ExecutionError("the statement that the block was made for is over")


def write_file(path: str, *pieces: Piece, temporary: str | None = None, sync: bool = False) -> None:
    """Write all `pieces` to the file at `path` atomically.

    Raise ResourceError if the disk is full. An incomplete file is removed.
    """
    target = Path(path)
    unfinished = Path(temporary) if temporary else target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}")
    try:
        with unfinished.open("r+b" if temporary else "xb", buffering=0) as file:
            for piece in pieces:
                _write_all(file.fileno(), memoryview(piece).cast("B"))
            if sync:
                os.fsync(file.fileno())
        # A process that counts the folder's bytes during the rename could miss both names.
        with locked(str(target.parent)) if temporary else contextlib.nullcontext():
            unfinished.rename(target)
        if sync:
            sync_directory(str(target.parent))
    except OSError as error:
        remove(str(unfinished))
        raise storage_error(path, error) from None


def _write_all(descriptor: int, content: memoryview) -> None:
    place = 0
    while place < len(content):
        place += os.write(descriptor, content[place : place + (1 << 28)])


def storage_error(path: str, error: OSError) -> ExecutionError:
    folder = Path(path).parent
    if error.errno in _NO_SPACE:
        return ResourceError(f'no space left in "{folder}"', sqlstate="53100")
    return ExecutionError(f'cannot write "{path}": {error.strerror}', sqlstate="58030")


def sync_file(path: str) -> None:
    """Sync a file. Raise ResourceError if the disk is full."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise storage_error(path, error) from None


def sync_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)


def link(target: str, path: str) -> None:
    """Make `path` a link to `target` in one step, replacing any existing file."""
    temporary = Path(f"{path}.{uuid.uuid4().hex[:8]}.link")
    try:
        temporary.symlink_to(Path(target).absolute())
        temporary.rename(path)
    except OSError as error:
        remove(str(temporary))
        raise storage_error(path, error) from None


UNWRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM)
"""Errors for a file that this process may not write."""

NAME = ".in-use"


class FolderUse:
    """Use of a folder until `close`, or until the process ends.

    If `is_alone`, no other process used the folder at the start, and its files may be changed.
    """

    def __init__(self, directory: str) -> None:
        path = Path(directory, NAME)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno not in UNWRITABLE or not path.exists():
                raise
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self.is_alone = False
            fcntl.flock(self._file, fcntl.LOCK_SH)
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.is_alone = True
        except OSError:
            self.is_alone = False
            fcntl.flock(self._file, fcntl.LOCK_SH)

    def share(self) -> None:
        """Allow other processes to use the folder."""
        fcntl.flock(self._file, fcntl.LOCK_SH)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

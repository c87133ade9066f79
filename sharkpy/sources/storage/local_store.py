"""Files of the local file system as a store, through the operating system's calls.

obstore's store for local files would hide links, list slowly, and could not sync files to the disk.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from sharkpy.base.cancellation import check_cancelled, checked
from sharkpy.catalog.path_gate import open_regular
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.storage.errors import StoreName, changed
from sharkpy.sources.storage.store import UPLOAD, ObjectFacts, StoreTraits, is_upload, reaches

_PIECE_BYTES = 4 << 20
_SYNC_THREADS = 8
_NOT_LINKED = (errno.EPERM, errno.EMLINK, errno.ENOTSUP)
"""Errors of disks without hard links."""
_NOT_THERE = (FileNotFoundError, NotADirectoryError)


class LocalStore:
    """Files of this machine. Links are followed, except by `delete` and `move`.

    1. A file is written under another name in its folder, and renamed when it is complete. So `put` and `put_new` are
       atomic for readers. They make the folders of the path.
    2. Bytes are synced to the disk before they get their name, since they may name other files. Files that are put or
       copied, and names, are synced by `sync`.
    3. Files have no tags: size and time, in nanoseconds, tell whether a file is unchanged.
    4. An object is anything but a folder. A pipe or a device cannot be read.
    """

    traits = StoreTraits(writes=True, lists=True, puts_new=True, is_sorted=True, has_folders=True, is_local=True)
    name = StoreName("", "this machine", "the system's user")

    def stat(self, path: str) -> ObjectFacts | None:
        try:
            status = os.stat(path)  # noqa: PTH116  a Path takes longer than the call
        except _NOT_THERE:
            return None
        except OSError as error:
            raise io_error(error, path) from None
        return None if stat.S_ISDIR(status.st_mode) else _facts(path, status)

    def has_folder(self, path: str) -> bool:
        return os.path.isdir(path)  # noqa: PTH112  a Path takes longer than the call

    def list(self, folder: str, *, after: str = "", until: str = "") -> Iterator[ObjectFacts]:
        files = self._files(folder, after, until)
        return (one for one in files if one.path > after and (not until or one.path <= until))

    def children(self, folder: str) -> tuple[Sequence[ObjectFacts], Sequence[str]]:
        entries = _entries(folder)
        objects = [found for entry in entries if not entry.is_dir() and (found := _facts_of_entry(entry)) is not None]
        return objects, [entry.path for entry in entries if entry.is_dir()]

    def read(self, facts: ObjectFacts, ranges: Sequence[tuple[int, int]]) -> Iterator[memoryview]:
        with _failures(facts.path), _opened(facts) as file:
            for start, end in ranges:
                check_cancelled()
                content = os.pread(file.fileno(), end - start, start)
                if len(content) != end - start:
                    raise changed(facts.path)
                yield memoryview(content)

    def put(self, path: str, content: BinaryIO | bytes) -> ObjectFacts:
        with _failures(path), _upload(path, content) as (upload, status):
            os.replace(upload, path)  # noqa: PTH105  a Path takes longer than the call
        return _facts(path, status)

    def put_new(self, path: str, content: bytes) -> bool:
        with _failures(path), _upload(path, content) as (upload, _):
            try:
                _take_name(path, upload)
            except FileExistsError:
                return False
            finally:
                Path(upload).unlink(missing_ok=True)
        return True

    def copy(self, source: ObjectFacts, target: str) -> ObjectFacts:
        with _failures(source.path), _opened(source) as file:
            copied = self.put(target, file)
        if copied.size_bytes != source.size_bytes:
            raise changed(source.path)
        return copied

    def move(self, source: ObjectFacts, target: str) -> None:
        with _failures(source.path):
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            Path(source.path).replace(target)

    def delete(self, paths: Iterable[str]) -> None:
        for path in checked(paths):
            with _failures(path), suppress(*_NOT_THERE):
                try:
                    Path(path).unlink()
                except OSError:
                    if not Path(path).is_dir():
                        raise
                    # A folder that is not empty stays.
                    with suppress(OSError):
                        Path(path).rmdir()

    def remove_uploads(self, folder: str, before_ns: int) -> int:
        files = self._files(folder, are_uploads=True)
        left = [facts.path for facts in files if facts.modified_ns < before_ns]
        self.delete(left)
        return len(left)

    def sync(self, paths: Iterable[str]) -> None:
        found = list(dict.fromkeys(paths))
        if len(found) < 2:
            for path in found:
                _synced(path)
            return
        with ThreadPoolExecutor(_SYNC_THREADS, thread_name_prefix="sharkpy-sync") as pool:
            list(pool.map(_synced, found))

    def _files(
        self, folder: str, after: str = "", until: str = "", *, are_uploads: bool = False
    ) -> Iterator[ObjectFacts]:
        """Files below a folder, or unfinished ones, in the order of their paths, except folders that are entirely
        outside of the bounds.
        """
        for entry in _entries(folder, are_uploads=are_uploads):
            check_cancelled()
            if entry.is_dir():
                if reaches(f"{entry.path}/", after, until):
                    yield from self._files(entry.path, after, until, are_uploads=are_uploads)
            elif is_upload(entry.name) == are_uploads and (found := _facts_of_entry(entry)) is not None:
                yield found


LOCAL = LocalStore()


@contextmanager
def _failures(path: str) -> Iterator[None]:
    """Raise errors of the operating system in the body as the engine's errors about `path`."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            # It may be the name of an unfinished file.
            error.filename = path
        raise io_error(error, path) from None


def _entries(folder: str, *, are_uploads: bool = False) -> list[os.DirEntry[str]]:
    """Entries of a folder in the order of their paths, with or without unfinished files; none if it is missing."""
    try:
        with os.scandir(folder) as scan:
            entries = [entry for entry in scan if are_uploads or not is_upload(entry.name)]
    except _NOT_THERE:
        return []
    except OSError as error:
        raise io_error(error, folder) from None
    return sorted(entries, key=lambda entry: f"{entry.name}/" if entry.is_dir() else entry.name)


def _facts_of_entry(entry: os.DirEntry[str]) -> ObjectFacts | None:
    """Facts of a file; None if it is gone by now. A link that leads nowhere has the facts of the link."""
    for follows in (True, False):
        try:
            return _facts(entry.path, entry.stat(follow_symlinks=follows))
        except _NOT_THERE:
            continue
        except OSError as error:
            raise io_error(error, entry.path) from None
    return None


def _facts(path: str, status: os.stat_result) -> ObjectFacts:
    return ObjectFacts(path, status.st_size, status.st_mtime_ns)


@contextmanager
def _opened(facts: ObjectFacts) -> Iterator[BinaryIO]:
    """The file that `facts` describe, open for reading. A time of 0 is not compared."""
    with open_regular(facts.path) as file:
        found = os.fstat(file.fileno())
        if (found.st_size, found.st_mtime_ns) != (facts.size_bytes, facts.modified_ns or found.st_mtime_ns):
            raise changed(facts.path)
        yield file


@contextmanager
def _upload(path: str, content: BinaryIO | bytes) -> Iterator[tuple[str, os.stat_result]]:
    """An unfinished file of some content for `path`, with its status. It is removed if the body fails."""
    folder = os.path.dirname(path)  # noqa: PTH120  a Path takes longer than the text
    upload = f"{folder}/{UPLOAD}{uuid4().hex}"
    try:
        with _new_file(upload) as file:
            reading = io.BytesIO(content) if isinstance(content, bytes) else content
            while piece := reading.read(_PIECE_BYTES):
                check_cancelled()
                file.write(piece)
            file.flush()
            # The system's clock has coarse ticks, within which another file may get the same name.
            now = time.time_ns()
            os.utime(file.fileno(), ns=(now, now))
            if isinstance(content, bytes):
                os.fsync(file.fileno())
            status = os.fstat(file.fileno())
        yield upload, status
    except BaseException:
        with suppress(OSError):
            Path(upload).unlink()
        raise


def _new_file(path: str) -> BinaryIO:
    try:
        return open(path, "xb")
    except FileNotFoundError:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return open(path, "xb")


def _take_name(path: str, upload: str) -> None:
    """Give a file a name that must be free. On a disk without hard links, readers see an empty file for a moment."""
    try:
        Path(path).hardlink_to(upload)
    except OSError as error:
        if error.errno not in _NOT_LINKED:
            raise
        open(path, "xb").close()
        os.replace(upload, path)  # noqa: PTH105  a Path takes longer than the call


def _synced(path: str) -> None:
    with _failures(path):
        sync_path(path)


def sync_path(path: str) -> None:
    """Sync a file or folder to disk. OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Copies of files between a warehouse and its backup, with checksums of the bytes read here."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, cast

import xxhash

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, check_cancelled, current_cancellation, submit
from sharkpy.base.errors import SourceError
from sharkpy.base.records import dataclass
from sharkpy.sources.copied_files import is_within_store
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import data_file_of, object_of_file, opened, store_for_access

_AT_ONCE = 8
"""Number of copies at once on the local disk, or within a store."""
_THROUGH_AT_ONCE = 4
"""Number of copies at once between this machine and a store. Each buffers up to 100 MB."""
_CHUNK = 4 << 20


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy of a file: its new location, its XXH3-64 checksum, and the modification time of its source.

    The checksum is empty if a store made the copy.
    """

    file: DataFile
    checksum: str
    modified_ns: int


def local_file(path: str) -> DataFile:
    """Describe a file of this machine; raise SourceError if it cannot be read."""
    try:
        status = Path(path).stat()
    except OSError as error:
        raise io_error(error, path) from None
    return DataFile(path, status.st_size, status.st_mtime_ns)


def copy_files(copies: Sequence[tuple[DataFile, str]], access_id: str) -> list[Copy]:
    """Copy each file to its target, several at once, and return the copies in the same order.

    `access_id` is the access to remote targets. A failure, or the end of the statement, cancels the other copies.
    """
    light = [one for one in copies if _is_light(*one, access_id)]
    heavy = [one for one in copies if not _is_light(*one, access_id)]
    made = [*_copy_in_parallel(light, access_id, _AT_ONCE), *_copy_in_parallel(heavy, access_id, _THROUGH_AT_ONCE)]
    by_target = dict(zip((target for _, target in (*light, *heavy)), made, strict=True))
    return [by_target[target] for _, target in copies]


def _copy_in_parallel(copies: Sequence[tuple[DataFile, str]], access_id: str, at_once: int) -> list[Copy]:
    work, begun = Cancellation(), list[Future[Copy]]()
    with (
        work.following(current_cancellation()),
        ThreadPoolExecutor(at_once, thread_name_prefix="sharkpy-copy") as pool,
    ):
        try:
            with work.active():
                begun += [submit(pool, copy_file, file, target, access_id) for file, target in copies]
            return [one.result() for one in begun]
        except BaseException:
            work.cancel()
            for one in begun:
                one.cancel()
            raise


def copy_file(source: DataFile, target: str, access_id: str = "") -> Copy:
    """Copy a file. A copy on this machine keeps the modification time, and the mode of a local source."""
    check_cancelled()
    store = store_for_access(target, access_id)
    if _is_copied_by_store(source, target, access_id):
        return Copy(data_file_of(store.copy(object_of_file(source), target), access_id), "", source.modified_ns)
    reading = _ChecksummedReader(_opened(source))
    try:
        facts = store.put(target, cast(BinaryIO, reading))
    finally:
        # A remote source is not closed: after a cancellation, a thread of the store's library may still read it.
        if not source.access:
            reading.close()
    if facts.size_bytes != reading.size_bytes:
        raise SourceError(
            f'"{uri.redacted(target)}" has {facts.size_bytes} bytes instead of the {reading.size_bytes} read'
        )
    if not store.traits.is_local:
        return Copy(data_file_of(facts, access_id), reading.checksum, _modified_ns(source))
    _keep_times(source, target)
    return Copy(local_file(target), reading.checksum, _modified_ns(source))


def _is_copied_by_store(source: DataFile, target: str, access_id: str) -> bool:
    """Whether the store can copy the object itself, checked by the object's tag."""
    return bool(source.tag) and is_within_store(source, target, access_id)


def _is_light(source: DataFile, target: str, access_id: str) -> bool:
    """Whether a copy buffers little: on the local disk, or if the store makes it."""
    is_local = not source.access and store_for_access(target, access_id).traits.is_local
    return is_local or _is_copied_by_store(source, target, access_id)


def _keep_times(source: DataFile, target: str) -> None:
    try:
        if not source.access:
            shutil.copystat(source.path, target)
        elif source.modified_ns:
            os.utime(target, ns=(source.modified_ns, source.modified_ns))
    except OSError as error:
        raise io_error(error, target) from None


def _opened(source: DataFile) -> BinaryIO:
    try:
        return opened(source)
    except OSError as error:
        raise io_error(error, source.path) from None


def _modified_ns(source: DataFile) -> int:
    return source.modified_ns if source.access else local_file(source.path).modified_ns


class _ChecksummedReader(io.RawIOBase):
    """File reader that computes the checksum of the bytes read. Seeking to the start resets it."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self._digest = xxhash.xxh3_64()
        self.size_bytes = 0

    @property
    def checksum(self) -> str:
        return self._digest.hexdigest()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        piece = self._file.read(-1 if size is None else size)
        self._digest.update(piece)
        self.size_bytes += len(piece)
        return piece

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        place = self._file.seek(offset, whence)
        if place == 0:
            self._digest.reset()
            self.size_bytes = 0
        return place

    def close(self) -> None:
        self._file.close()
        super().close()

"""Files of HDFS through hdfs-native, which speaks to name nodes and data nodes without Java.

A store is made with Hadoop's settings of an access, and the user's name or Kerberos ticket (`hdfs_store`).
"""

from __future__ import annotations

import asyncio
import getpass
import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count, islice
from typing import TYPE_CHECKING, BinaryIO, TypeVar
from uuid import uuid4

from sharkpy.base import settings
from sharkpy.base.errors import ConfigurationError
from sharkpy.sources.storage.access import StorageAccess
from sharkpy.sources.storage.errors import StoreName, changed
from sharkpy.sources.storage.object_reader import StoreCalls, reads_at_once, root_and_key
from sharkpy.sources.storage.requests import CallThreads, in_order, in_parallel, result_of
from sharkpy.sources.storage.store import UPLOAD, ObjectFacts, Store, StoreLimits, StoreTraits, is_upload, reaches
from sharkpy.sources.storage.uploads import UploadParts

if TYPE_CHECKING:
    from hdfs_native import Client, FileReader, FileStatus, FileWriter

T = TypeVar("T")
_PAGE = 1000
_DELETES = 16
_MS_NS = 1_000_000
_FIRST_WAIT_SECONDS = 0.1
_MOST_WAIT_SECONDS = 1.0
_NOT_DELETED = ("PathIsNotEmptyDirectoryException", "(is not a directory)")
"""Words of refused deletes that mean that there is no such file: the name is a folder, or is below another file."""


class HdfsStore(StoreCalls):
    """Files of a name node, a name service or a mount table. `permission`: mode of new files.

    A file is written under another name in its folder, and renamed when it is complete. So `put` and `put_new` are
    atomic for readers. Files have no tags: size and time, in milliseconds, tell whether a file is unchanged. The
    library has no time limits of its own for name nodes, and its calls cannot be cancelled: they run in threads.
    """

    traits = StoreTraits(writes=True, lists=True, puts_new=True, is_sorted=False, has_folders=True)

    def __init__(self, client: Client, name: StoreName, limits: StoreLimits, permission: int) -> None:
        super().__init__(name, limits)
        self._client = client
        self._permission = permission
        self._threads = CallThreads(limits.requests)

    def failures(self) -> tuple[type[Exception], ...]:
        return (OSError, RuntimeError, NotImplementedError)

    def stat(self, path: str) -> ObjectFacts | None:
        return result_of(self.asking(path, partial(self._found, path)))

    def has_folder(self, path: str) -> bool:
        status = result_of(self.asking(path, partial(self._status, path)))
        return status is not None and status.isdir

    def list(self, folder: str, *, after: str = "", until: str = "") -> Iterator[ObjectFacts]:
        for facts in self._files(folder, after, until):
            if facts.path > after and (not until or facts.path <= until) and not is_upload(facts.path):
                yield facts

    def children(self, folder: str) -> tuple[Sequence[ObjectFacts], Sequence[str]]:
        entries = list(self._entries(folder))
        objects = [_facts(path, status) for path, status in entries if not status.isdir and not is_upload(path)]
        return objects, [path for path, status in entries if status.isdir]

    def read(self, facts: ObjectFacts, ranges: Sequence[tuple[int, int]]) -> Iterator[memoryview]:
        reader = result_of(self.asking(facts.path, partial(self._opened, facts)))
        calls = (self.asking(facts.path, partial(self._piece, facts, reader, start, end)) for start, end in ranges)
        yield from in_order(calls, reads_at_once(ranges))

    def put(self, path: str, content: BinaryIO | bytes) -> ObjectFacts:
        return self._put(path, content, overwrite=True)[0]

    def put_new(self, path: str, content: bytes) -> bool:
        return self._put(path, content, overwrite=False)[1]

    def copy(self, source: ObjectFacts, target: str) -> ObjectFacts:
        upload = UploadParts()
        call = partial(self._copied, source, target, upload)
        return result_of(self.asking(source.path, call, is_bounded=False), upload.give_up)

    def move(self, source: ObjectFacts, target: str) -> None:
        result_of(
            self.asking(source.path, partial(self._renamed, _path_of(source.path), replace(source, path=target), True))
        )

    def delete(self, paths: Iterable[str]) -> None:
        calls = (self.asking(path, partial(self._in_thread, partial(self._delete, path))) for path in paths)
        in_parallel(calls, _DELETES)

    def remove_uploads(self, folder: str, before_ns: int) -> int:
        files = self._files(folder)
        left = [facts.path for facts in files if is_upload(facts.path) and facts.modified_ns < before_ns]
        self.delete(left)
        return len(left)

    def _files(self, folder: str, after: str = "", until: str = "") -> Iterator[ObjectFacts]:
        """Files below a folder, with unfinished ones, except folders that are entirely outside of the bounds."""
        waiting = [folder]
        while waiting:
            folders: list[str] = []
            for path, status in self._entries(waiting.pop()):
                if not status.isdir:
                    yield _facts(path, status)
                elif reaches(f"{path}/", after, until):
                    folders.append(path)
            waiting += reversed(folders)

    def _entries(self, folder: str) -> Iterator[tuple[str, FileStatus]]:
        """Files and folders directly in a folder, with their URIs; none if it is missing or is a file."""
        root, key = root_and_key(folder)
        entries = self._client.list_status(f"/{key}")
        while page := result_of(self.asking(folder, partial(self._in_thread, partial(_next_page, entries)))):
            for status in page:
                if status.path != f"/{key}":
                    yield f"{root}{status.path[1:]}", status
            if len(page) < _PAGE:
                return

    def _put(self, path: str, content: BinaryIO | bytes, overwrite: bool) -> tuple[ObjectFacts, bool]:
        file = io.BytesIO(content) if isinstance(content, bytes) else content
        start, upload = file.tell(), UploadParts()

        def parts() -> Iterator[bytes]:
            file.seek(start)
            return upload.of_file(file, self.limits.part_bytes)

        call = partial(self._uploaded, path, parts, overwrite)
        return result_of(self.asking(path, call, is_bounded=False), upload.give_up)

    def _delete(self, path: str) -> None:
        try:
            self._client.delete(_path_of(path), recursive=False)
        except RuntimeError as error:
            if not any(name in str(error) for name in _NOT_DELETED):
                raise

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await self._threads.run(call)

    async def _step(self, call: Callable[[], T]) -> T:
        """Result of one of several calls, each with its own time limit."""
        async with asyncio.timeout(self.limits.timeout_seconds):
            return await self._threads.run(call)

    async def _status(self, path: str) -> FileStatus | None:
        """Status of a file or folder; None if there is none."""
        try:
            return await self._threads.run(partial(self._client.get_file_info, _path_of(path)))
        except FileNotFoundError:
            return None

    async def _found(self, path: str) -> ObjectFacts | None:
        status = await self._status(path)
        return None if status is None or status.isdir else _facts(path, status)

    async def _opened(self, facts: ObjectFacts) -> FileReader:
        """Reader of a file's blocks. The file is checked after its blocks are known, so they are the blocks of that
        file.
        """
        reader = await self._threads.run(partial(self._client.read, _path_of(facts.path)))
        if len(reader) != facts.size_bytes or await self._found(facts.path) != facts:
            raise changed(facts.path)
        return reader

    async def _piece(self, facts: ObjectFacts, reader: FileReader, start: int, end: int) -> memoryview:
        """Bytes of a range. A failed read is retried with new blocks: they may have moved, or the file may be gone."""
        if start >= end:
            return memoryview(b"")
        for attempt in count(1):
            try:
                return memoryview(await self._threads.run(partial(reader.read_range, start, end - start)))
            except (OSError, RuntimeError):
                if attempt > self.limits.retries:
                    raise
            await _pause(attempt)
            reader = await self._opened(facts)
        raise AssertionError("the last attempt raises")

    async def _copied(self, source: ObjectFacts, target: str, upload: UploadParts) -> ObjectFacts:
        reader = await self._opened(source)

        def parts() -> Iterator[bytes]:
            reader.seek(0)
            return upload.of_reader(reader.read, self.limits.part_bytes)

        return (await self._uploaded(target, parts, overwrite=True))[0]

    async def _uploaded(
        self, path: str, parts: Callable[[], Iterator[bytes]], overwrite: bool
    ) -> tuple[ObjectFacts, bool]:
        """Facts of a file written from these parts, and whether it got its name.

        The library gives up if a data node chosen for a new block does not answer. On a retry the name node may choose
        other ones.
        """
        for attempt in count(1):
            try:
                return await self._uploaded_once(path, parts(), overwrite)
            except (OSError, RuntimeError) as error:
                if attempt > self.limits.retries or not _is_broken(error):
                    raise
            await _pause(attempt)
        raise AssertionError("the last attempt raises")

    async def _uploaded_once(self, path: str, parts: Iterator[bytes], overwrite: bool) -> tuple[ObjectFacts, bool]:
        key = _path_of(path)
        unfinished = f"{key.rpartition('/')[0]}/{UPLOAD}{uuid4().hex}"
        is_placed = False
        try:
            facts = _facts(path, await self._written(unfinished, parts))
            is_placed = await self._renamed(unfinished, facts, overwrite)
            return facts, is_placed
        finally:
            if not is_placed:
                with suppress(*self.failures()):
                    await self._step(partial(self._client.delete, unfinished))

    async def _written(self, key: str, parts: Iterator[bytes]) -> FileStatus:
        from hdfs_native import WriteOptions

        options = WriteOptions(permission=self._permission, create_parent=True)
        writer = await self._step(partial(self._client.create, key, options))
        while await self._step(partial(_write_next, writer, parts)):
            pass
        await self._step(writer.close)
        return await self._step(partial(self._client.get_file_info, key))

    async def _renamed(self, unfinished: str, facts: ObjectFacts, overwrite: bool) -> bool:
        """Give a file its name; False if another file has it."""
        try:
            await self._step(partial(self._client.rename, unfinished, _path_of(facts.path), overwrite))
        except FileExistsError:
            if overwrite:
                raise
            return False
        except FileNotFoundError:
            # After a lost answer the library repeats the request, and finds that the file is already renamed.
            if await self._found(facts.path) != facts:
                raise
        return True


async def _pause(attempt: int) -> None:
    """Wait before the next attempt; each wait is longer."""
    await asyncio.sleep(min(_FIRST_WAIT_SECONDS * 2 ** (attempt - 1), _MOST_WAIT_SECONDS))


def _is_broken(error: Exception) -> bool:
    """True for a broken or refused connection; False for an answer of a name node."""
    return type(error) is OSError or "DataTransferError" in str(error)


def _path_of(path: str) -> str:
    return f"/{root_and_key(path)[1]}"


def _facts(path: str, status: FileStatus) -> ObjectFacts:
    # Both times of a file are its creation time until its writer closes it.
    is_open = status.modification_time == status.access_time
    return ObjectFacts(path, status.length, status.modification_time * _MS_NS, is_open=is_open)


def _next_page(entries: Iterator[FileStatus]) -> Sequence[FileStatus]:
    """Next entries of a folder; none if it is gone."""
    try:
        return list(islice(entries, _PAGE))
    except FileNotFoundError:
        return ()


def _write_next(writer: FileWriter, parts: Iterator[bytes]) -> bool:
    """Write the next part; False if there is none."""
    part = next(parts, b"")
    if part:
        writer.write(part)
    return bool(part)


_AUTHENTICATION = "hadoop.security.authentication"
_UMASK = "fs.permissions.umask-mode"
_MOST_WAIT_MS = 5000


def hdfs_store(root: str, access: StorageAccess, limits: StoreLimits) -> Store:
    """Store of `hdfs://host:port`, of a name service `hdfs://name`, of the default one `hdfs://`, or of
    `viewfs://name`.

    hdfs-native reads core-site.xml and hdfs-site.xml itself. Options of `access` take precedence, so that tasks need no
    such files. ConfigurationError for files that it cannot read, and for a name service that they do not define.
    """
    from hdfs_native import Client

    given = client_options(access, limits)
    folder = access.value(settings.HADOOP_CONF_DIR.key)
    permission = 0o666 & ~_umask(given.get(_UMASK, "022"))
    try:
        client = Client(root, given, folder)
    except (RuntimeError, OSError) as error:
        hint = "it takes host:port, or the name of a service in hdfs-site.xml in HADOOP_CONF_DIR"
        raise ConfigurationError(f'"{root}" cannot be used: {error}', hint=hint) from None
    return HdfsStore(client, StoreName("", root, _user(given)), limits, permission)


def client_options(access: StorageAccess, limits: StoreLimits) -> dict[str, str]:
    """Hadoop's settings of an access; they take precedence over the settings made from `limits`."""
    given = {key: value for key, _ in access.options if (value := access.value(key)) is not None}
    given.pop(settings.HADOOP_CONF_DIR.key, None)
    return _bounds(limits) | given


def _bounds(limits: StoreLimits) -> dict[str, str]:
    """Limits on the library's own retries, so that abandoned calls end."""
    return {
        "dfs.client.failover.max.attempts": str(max(limits.retries, 1)),
        "dfs.client.failover.sleep.base.millis": "100",
        "dfs.client.failover.sleep.max.millis": str(_MOST_WAIT_MS),
        "dfs.client.socket-timeout": str(int(limits.timeout_seconds * 1000)),
    }


def _umask(text: str) -> int:
    try:
        return int(text, 8)
    except ValueError:
        raise ConfigurationError(f'"{text}" is not a value of {_UMASK} (octal number)', sqlstate="22023") from None


def _user(given: dict[str, str]) -> str:
    """Identity that the library uses for requests, for errors."""
    if given.get(_AUTHENTICATION, "simple") != "simple":
        return "the Kerberos ticket"
    name = os.environ.get("HADOOP_PROXY_USER") or os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
    return f'the user name "{name}"'

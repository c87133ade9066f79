"""Copies of files between stores, and writes of files into a remote folder that belongs to no table.

`copy_files` copies within a store and between stores, of which the local disk is one. A `FolderWrite` makes all of its
files count, or none. Buckets cannot rename folders, and readers of plain files do not know manifests. So the names of a
write's files begin with its id, and the steps have a fixed order:

1. Computed rows are put below `_writes/<id>`, which readers ignore.
2. The object `_writes/<id>/_begun` is put, and the files are copied to their final names. Older files stay.
3. The object `_writes/<id>/_placed` is put. It lists the older files to delete, and holds the last file to write. From
   here on the new files stay.
4. The older files are deleted, or the last file is written. Then everything below `_writes/<id>` is deleted.

Readers between steps 2 and 4 find old and new files. After a kill, the next start completes step 4 if there is
`_placed`, and deletes the new files if there is only `_begun`. These two objects are deleted last, `_begun` first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from uuid import uuid4

from sharkpy.base import uri
from sharkpy.base.cancellation import check_cancelled, checked
from sharkpy.base.errors import SharkError, SourceError, UnsupportedError
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.base.records import dataclass
from sharkpy.sources.file_errors import io_error, missing
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import object_of_file, opened, store_for_access, store_of_file
from sharkpy.sources.parallel_requests import AT_ONCE, parallel_map
from sharkpy.sources.storage.errors import changed
from sharkpy.sources.storage.store import ObjectFacts, Store, content_of

_THROUGH_AT_ONCE = 4
"""Files whose bytes pass through this process at the same time: each may have up to 100 MB in flight."""


def copy_files(copies: Sequence[tuple[DataFile, str]], access_id: str = "") -> None:
    """Copy files in parallel, each to its own path. `access_id`: the access to remote paths.

    A store copies files within itself; other bytes pass through this process. Copies on a local disk are not synced.
    The first failure is raised. The caller has to remove the copies made so far; unfinished copies are never visible.
    """
    within = [is_within_store(*one, access_id) for one in copies]
    inner = [one for one, is_within in zip(copies, within, strict=True) if is_within]
    outer = [one for one, is_within in zip(copies, within, strict=True) if not is_within]
    is_local = bool(inner) and store_of_file(inner[0][0]).traits.is_local
    parallel_map(partial(_copy_within, access_id=access_id), inner, 1 if is_local else AT_ONCE)
    parallel_map(partial(_copy_through, access_id=access_id), outer, _THROUGH_AT_ONCE)


def delete_unchanged(files: Iterable[DataFile]) -> None:
    """Delete files that have been copied.

    SourceError 58030 for the first file that stays, because it was changed meanwhile or cannot be deleted. All other
    files are deleted.
    """
    failed: list[SharkError] = []

    def delete(file: DataFile) -> None:
        try:
            _delete(file)
        except SharkError as error:
            failed.append(error)

    parallel_map(delete, list(files))
    if failed:
        raise failed[0]


def require_writable(folder: str, access_id: str) -> None:
    """Raise UnsupportedError for a folder at a read-only server."""
    traits = store_for_access(folder, access_id).traits
    if not (traits.writes and traits.lists):
        raise UnsupportedError(f'"{uri.redacted(folder)}" cannot be written: its server is read-only')


def is_within_store(file: DataFile, target: str, access_id: str) -> bool:
    """True if one store holds both a file and its copy, and can copy within itself."""
    return store_of_file(file) is store_for_access(target, access_id)


def _copy_within(copy: tuple[DataFile, str], access_id: str) -> None:
    file, target = copy
    _store_for_copy(target, access_id).copy(object_of_file(file), target)


def _copy_through(copy: tuple[DataFile, str], access_id: str) -> None:
    """Copy a file to another store."""
    file, target = copy
    if _put(file, target, _store_for_copy(target, access_id)).size_bytes != file.size_bytes:
        raise changed(file.path)


def _put(file: DataFile, target: str, store: Store) -> ObjectFacts:
    if file.access:
        # Not closed: a thread of the store's library may still read it if the statement was cancelled.
        return store.put(target, opened(file))
    try:
        with opened(file) as content:
            return store.put(target, content)
    except OSError as error:
        raise io_error(error, file.path) from None


def _store_for_copy(target: str, access_id: str) -> Store:
    """Store for a copy at `target`. SourceError 58P01 if a local folder is gone, since its table has been dropped: the
    store would make it again.
    """
    check_cancelled()
    store = store_for_access(target, access_id)
    if store.traits.is_local and not store.has_folder(uri.parent(target)):
        raise missing(target)
    return store


def _delete(file: DataFile) -> None:
    store = store_of_file(file)
    if (found := store.stat(file.path)) is None:
        return
    if found != object_of_file(file):
        raise SourceError(f'"{uri.redacted(file.path)}" was changed after it was copied')
    store.delete([file.path])


_WRITES = "_writes"
_BEGUN = "_begun"
_PLACED = "_placed"
_VERSION = 1
_OF_WRITE = re.compile(r"([0-9a-f]{32})-")


@dataclass(frozen=True, slots=True)
class PlacedFiles:
    """Remaining steps after a write's files are in place. `old`: paths of files to delete, relative to the folder;
    `last`: name and text of the last file to write.
    """

    old: tuple[str, ...] = ()
    last: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class FolderWrite:
    """Write of files into the remote folder `target`; `write`: its id."""

    target: str
    write: str
    access_id: str

    @classmethod
    def begin(cls, target: str, access_id: str) -> FolderWrite:
        """A new write into a folder that passes `require_writable`."""
        return cls(target, uuid4().hex, access_id)

    @property
    def staging(self) -> str:
        """Folder of the files that are not in place yet."""
        return uri.join(self.target, _WRITES, self.write)

    def copy(self, copies: Sequence[tuple[DataFile, str]]) -> None:
        """Copy files to names, which may be below subfolders of the target; their order is the order of the rows."""
        self._store.put(self._begun_path, b"")
        copy_files([(file, self._path(name)) for file, name in copies], self.access_id)

    def place(self, *, replaces: bool, last: tuple[str, str] | None = None) -> PlacedFiles:
        """Make the copied files permanent. If `replaces`, all other files are deleted later, except files of writes in
        progress.

        The caller makes sure that no other write of this warehouse is placed meanwhile.
        """
        placed = PlacedFiles(tuple(self._others()) if replaces else (), last)
        self._store.put(self._placed_path, _encode(placed))
        return placed

    def finish(self, placed: PlacedFiles) -> None:
        """Carry out the remaining steps."""
        self._store.delete(f"{self.target}/{name}" for name in placed.old)
        if placed.last is not None:
            name, text = placed.last
            self._store.put(uri.join(self.target, name), text.encode())

    def undo(self) -> None:
        """Remove the write's files, in place or not."""
        self._store.delete([self._placed_path])
        self._store.delete(path for path in self._visible() if _write_of(path) == self.write)

    def remove_staged(self) -> None:
        """Remove the staged files, and then the objects that record the write."""
        marks = (self._begun_path, self._placed_path)
        self._store.delete(facts.path for facts in checked(self._store.list(self.staging)) if facts.path not in marks)
        # Separate requests, in this order.
        for path in marks:
            self._store.delete([path])
        if self._store.traits.has_folders:
            self._remove_folders(self.staging)
            self._store.delete([uri.parent(self.staging)])

    def _remove_folders(self, folder: str) -> None:
        """Remove a folder and the folders below it, if they are empty."""
        for below in self._store.children(folder)[1]:
            self._remove_folders(below)
        self._store.delete([folder])

    def settle(self) -> None:
        """Finish the write of a dead process, or undo it. It may have been settled before."""
        placed = self._placed()
        if placed is not None:
            self.finish(placed)
        elif self._store.stat(self._begun_path) is not None:
            self.undo()
        self.remove_staged()

    @property
    def _store(self) -> Store:
        return store_for_access(self.target, self.access_id)

    @property
    def _placed_path(self) -> str:
        return uri.join(self.staging, _PLACED)

    @property
    def _begun_path(self) -> str:
        return uri.join(self.staging, _BEGUN)

    def _path(self, name: str) -> str:
        folder, _, file = name.rpartition("/")
        return uri.join(self.target, folder, f"{self.write}-{file}")

    def _visible(self) -> Iterator[str]:
        """Paths of all files below the target, except in staging folders."""
        staged = f"{uri.join(self.target, _WRITES)}/"
        for facts in checked(self._store.list(self.target)):
            if not facts.path.startswith(staged):
                yield facts.path

    def _others(self) -> Iterator[str]:
        """Files, relative to the target, that belong to no write or to a finished one."""
        found = [path for path in self._visible() if _write_of(path) != self.write]
        waiting = self._under_way({write for path in found if (write := _write_of(path))})
        return (path[len(self.target) + 1 :] for path in found if _write_of(path) not in waiting)

    def _under_way(self, writes: Collection[str]) -> frozenset[str]:
        """Writes among these that may still be undone."""
        others = [replace(self, write=write) for write in sorted(writes)]
        found = parallel_map(FolderWrite.is_open, others)
        return frozenset(one.write for one, is_open in zip(others, found, strict=True) if is_open)

    def is_open(self) -> bool:
        """True if it has staged files, and is not placed."""
        is_staged = next(iter(self._store.list(self.staging)), None) is not None
        return is_staged and self._store.stat(self._placed_path) is None

    def _placed(self) -> PlacedFiles | None:
        facts = self._store.stat(self._placed_path)
        if facts is None:
            return None
        return _decode(content_of(facts, self._store), self._placed_path)


def is_folder_write(staging: str) -> bool:
    """True for the remote location of the staging folder of a `FolderWrite`."""
    return uri.is_remote(staging) and uri.name_of(uri.parent(staging)) == _WRITES


def settle_write(staging: str, access_id: str) -> None:
    """Settle the write of a dead process with this staging folder."""
    FolderWrite(uri.parent(uri.parent(staging)), uri.name_of(staging), access_id).settle()


def _write_of(path: str) -> str:
    """Id of the write in a file's name; empty if there is none."""
    found = _OF_WRITE.match(uri.name_of(path))
    return "" if found is None else found.group(1)


def _encode(placed: PlacedFiles) -> bytes:
    body = {"version": _VERSION, "old": placed.old, "last": placed.last}
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


def _decode(content: bytes, path: str) -> PlacedFiles:
    """Decode the content of `_placed`; SourceError if it is invalid. It cannot name files outside of its folder."""
    try:
        text = content.decode()
        check_json_nesting(text)
        match json.loads(text):
            case {"version": 1, "old": list(old), "last": None} if all(map(_is_inside, old)):
                return PlacedFiles(tuple(old))
            case {"version": 1, "old": [], "last": [str(name), str(text)]} if _is_inside(name):
                return PlacedFiles(last=(name, text))
    except ValueError:
        pass
    raise SourceError(f'"{uri.redacted(path)}" does not tell what a write has put in place')


def _is_inside(name: object) -> bool:
    return isinstance(name, str) and not {".", ".."}.intersection(name.split("/"))

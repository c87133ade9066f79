"""Writers of a remote folder that are killed between any two of their requests, or in one: readers see what was or what
comes, and what the next start sweeps leaves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO, TypeVar
from uuid import uuid4

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

from sharkpy.base import uri
from sharkpy.sources.folders.remote_folder import RemoteFolder
from sharkpy.sources.folders.staged_writes import STAGED
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import object_of_file
from sharkpy.sources.storage.errors import StoreName
from sharkpy.sources.storage.store import ObjectFacts, Store, StoreTraits
from tests.storage.places import memory_store

T = TypeVar("T")
HOME = "s3://memory/t"


class Killed(BaseException):
    """The end of a process: nothing of it comes after."""


class MortalStore:
    """A store whose process is killed at its `last` request that changes something: before the request or after it, and
    in the middle of changes that need several requests.
    """

    def __init__(self, store: Store, last: int, *, is_done: bool) -> None:
        self._store = store
        self._left = last
        self._is_done = is_done

    @property
    def traits(self) -> StoreTraits:
        return self._store.traits

    @property
    def name(self) -> StoreName:
        return self._store.name

    def stat(self, path: str) -> ObjectFacts | None:
        self._check()
        return self._store.stat(path)

    def has_folder(self, path: str) -> bool:
        return self._store.has_folder(path)

    def list(self, folder: str, *, after: str = "", until: str = "") -> Iterator[ObjectFacts]:
        self._check()
        return self._store.list(folder, after=after, until=until)

    def children(self, folder: str) -> tuple[Sequence[ObjectFacts], Sequence[str]]:
        return self._store.children(folder)

    def read(self, facts: ObjectFacts, ranges: Sequence[tuple[int, int]]) -> Iterator[memoryview]:
        self._check()
        return self._store.read(facts, ranges)

    def put(self, path: str, content: BinaryIO | bytes) -> ObjectFacts:
        return self._killed(lambda: self._store.put(path, content))

    def put_new(self, path: str, content: bytes) -> bool:
        return self._killed(lambda: self._store.put_new(path, content))

    def copy(self, source: ObjectFacts, target: str) -> ObjectFacts:
        return self._killed(lambda: self._store.copy(source, target))

    def delete(self, paths: Iterable[str]) -> None:
        wanted = list(paths)
        for path in wanted:
            self._killed(partial(self._store.delete, [path]))

    def remove_uploads(self, folder: str, before_ns: int) -> int:
        return self._store.remove_uploads(folder, before_ns)

    def _killed(self, call: Callable[[], T]) -> T:
        self._check()
        self._left -= 1
        if self._left:
            return call()
        if self._is_done:
            call()
        raise Killed

    def _check(self) -> None:
        if self._left <= 0:
            raise Killed


@dataclass(slots=True)
class Process:
    """A process that writes: its folder, its noted folders, and the newest generation of its catalog, None for all."""

    folder: RemoteFolder
    newest: int | None = None
    noted: list[str] = field(default_factory=list)

    def staged(self, *texts: str, below: str = "") -> str:
        staging = self.folder.new_staging()
        self.noted.append(staging)
        self.folder.make_staging(staging)
        for number, text in enumerate(texts):
            self.folder.store.put(uri.join(staging, below, f"part-{number}"), text.encode())
        return staging

    def end(self, staging: str) -> None:
        self.folder.discard_staging(staging)
        self.noted.remove(staging)

    def write(self, *texts: str, overwrite: bool = False) -> None:
        staging = self.staged(*texts)
        if self.newest is None:
            self.folder.place(staging, overwrite)
        else:
            self.newest = self.folder.place_after(staging, self.newest, overwrite).number
        self.end(staging)
        if overwrite:
            self.folder.remove_hidden(self.newest)


def insert(process: Process) -> None:
    process.write("c", "d")


def overwrite(process: Process) -> None:
    process.write("e", "f", overwrite=True)


def undone(process: Process) -> None:
    staging = process.staged("c", "d")
    placed = process.folder.place_after(staging, process.newest, overwrite=True)
    process.folder.take_back(placed)
    process.end(staging)


def failed(process: Process) -> None:
    process.end(process.staged("c", "d"))


def fold(process: Process) -> None:
    staging = process.staged("ab")
    process.folder.place_fold(staging, process.folder.visible(process.newest), process.newest)
    process.end(staging)
    process.folder.remove_hidden(process.newest)


def roll_back(process: Process) -> None:
    staging = process.staged()
    process.folder.second_names(1, staging)
    placed = process.folder.place_after(staging, process.newest, overwrite=True)
    if process.newest is not None:
        process.newest = placed.number
    process.end(staging)
    process.folder.remove_hidden(process.newest)


STATEMENTS: dict[Callable[[Process], None], tuple[str, ...]] = {
    insert: ("abcd",),
    overwrite: ("ef",),
    undone: ("cd",),
    failed: (),
    fold: (),
    roll_back: ("a",),
}
"""Statements, and the rows that may be read after each, in addition to the earlier rows."""


@pytest.mark.variants(3)
@pytest.mark.parametrize("is_numbered", [False, True])
@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_kills(statement: Callable[[Process], None], is_done: bool, is_numbered: bool) -> None:
    last = 0
    while True:
        last += 1
        store, access_id = memory_store(), uuid4().hex
        process = Process(RemoteFolder(HOME, store, access_id), 0 if is_numbered else None)
        process.write("a")
        process.write("b")
        process.folder = RemoteFolder(HOME, MortalStore(store, last, is_done=is_done), access_id)
        try:
            statement(process)
        except Killed:
            check_the_next_start(process, RemoteFolder(HOME, store, access_id), ("ab", *STATEMENTS[statement]))
        else:
            break
    assert last > 2


def check_the_next_start(process: Process, folder: RemoteFolder, expected: tuple[str, ...]) -> None:
    for staging in process.noted:
        STAGED.end(staging)
    before = text(folder, process.newest)
    assert before in expected
    if process.newest is not None:
        folder.remove_beyond(process.newest)
    for staging in process.noted:
        folder.discard_staging(staging)
    assert text(folder, process.newest) == before
    folder.remove_hidden(process.newest)
    visible = folder.visible(process.newest)
    assert text(folder, process.newest) == before
    manifests = {f"{HOME}/_generations/{one.name}" for one, _ in visible}
    files = {file.path for _, files in visible for file in files}
    assert {facts.path for facts in folder.store.list(HOME)} == manifests | files


def text(folder: RemoteFolder, newest: int | None) -> str:
    files: list[DataFile] = folder.files(lambda: newest)
    return "".join(
        b"".join(map(bytes, folder.store.read(object_of_file(one), [(0, one.size_bytes)]))).decode() for one in files
    )

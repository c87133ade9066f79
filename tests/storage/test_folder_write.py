"""Writes of remote folders that belong to no table: wherever they are cut off, the old files are there, or the new."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.sources import copied_files
from sharkpy.sources.copied_files import FolderWrite, is_folder_write, require_writable, settle_write
from sharkpy.sources.layout import DataFile
from sharkpy.sources.storage.access import ACCESSES, NO_KEYS
from sharkpy.sources.storage.store import ObjectFacts, Store
from tests.storage.places import BUCKET, access_to, memory_store, s3_access
from tests.storage.s3_servers import S3Server

OLD = {"a.txt": b"old a", "deep/b.txt": b"old b", "_hidden": b"old", f"{'0' * 32}-x": b"of an earlier write"}


class Killed(BaseException):
    """End of a process."""


class Cut:
    """Store whose process is killed before its next change, or right after it, once `left` changes were made."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.left = 1_000_000
        self.is_carried_out = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def _changed(self, change: Callable[[], Any]) -> Any:
        self.left -= 1
        if self.left < 0:
            if self.is_carried_out:
                change()
            raise Killed
        return change()

    def put(self, path: str, content: Any) -> Any:
        return self._changed(lambda: self._store.put(path, content))

    def copy(self, source: ObjectFacts, target: str) -> Any:
        return self._changed(lambda: self._store.copy(source, target))

    def delete(self, paths: Any) -> None:
        for path in paths:
            self._changed(lambda path=path: self._store.delete([path]))


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Cut:
    store = Cut(memory_store())
    monkeypatch.setattr(copied_files, "store_for_access", lambda *_: store)
    monkeypatch.setattr(copied_files, "store_of_file", lambda _: store)
    return store


def content(store: Store | Cut, target: str) -> dict[str, bytes]:
    """Objects below a folder; ids of writes are left out of their names."""
    found = {}
    for facts in store.list(target):
        folder, _, name = facts.path[len(target) + 1 :].rpartition("/")
        name = name[33:] if name[32:33] == "-" and name[:32] != "0" * 32 else name
        found[f"{folder}/{name}" if folder else name] = b"".join(store.read(facts, [(0, facts.size_bytes)]))
    return found


def filled(store: Store | Cut) -> str:
    target = f"memory://x/{uuid4().hex}"
    for name, body in OLD.items():
        store.put(f"{target}/{name}", body)
    return target


def staged(
    write: FolderWrite, store: Store | Cut, files: dict[str, bytes], access_id: str = "x"
) -> list[tuple[DataFile, str]]:
    """Files that tasks have put into the staging folder."""
    put = [(store.put(f"{write.staging}/_files/{name}", body), name) for name, body in files.items()]
    return [
        (DataFile(one.path, one.size_bytes, one.modified_ns, tag=one.tag, access=access_id), name) for one, name in put
    ]


def carried_out(write: FolderWrite, copies: list[tuple[DataFile, str]]) -> None:
    write.copy(copies)
    write.finish(write.place(replaces=True))
    write.remove_staged()


NEW = {"part-0": b"new 0", "part-1": b"new 1", "d=1/part-2": b"new 2"}


@pytest.mark.variants(2)
@pytest.mark.parametrize("is_carried_out", [False, True])
def test_a_kill_leaves_old_or_new_files(cut: Cut, is_carried_out: bool) -> None:
    seen = set()
    for changes in range(100):
        cut.left, cut.is_carried_out = 1_000_000, is_carried_out
        target = filled(cut)
        write = FolderWrite.begin(target, "x")
        copies = staged(write, cut, NEW)
        cut.left = changes
        try:
            carried_out(write, copies)
        except Killed:
            # The start that settles it may be killed as well.
            cut.left = changes % 4
            with suppress(Killed):
                settle_write(write.staging, "x")
            cut.left = 1_000_000
            settle_write(write.staging, "x")
            found = content(cut, target)
            assert found in (OLD, NEW), found
            seen.add(found == NEW)
        else:
            assert content(cut, target) == NEW
            assert seen == {False, True}
            return
    raise AssertionError("the write never ends")


STEPS = ("copy", "place", "finish", "remove")


@given(order=st.permutations([0] * len(STEPS) + [1] * len(STEPS)), undone=st.sampled_from([None, 0, 1]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_two_writes_side_by_side(cut: Cut, order: list[int], undone: int | None) -> None:
    """The one that is placed last stays, whatever else is interleaved; one that fails leaves nothing."""
    target = filled(cut)
    writes = [FolderWrite.begin(target, "x") for _ in range(2)]
    bodies = [{"part": b"first"}, {"part": b"second"}]
    copies = [staged(write, cut, body) for write, body in zip(writes, bodies, strict=True)]
    steps, placed, last = [list(STEPS), list(STEPS)], {}, None
    for number in order:
        write, step = writes[number], steps[number].pop(0)
        if step == "copy":
            write.copy(copies[number])
        elif step == "place" and number == undone:
            write.undo()
        elif step == "place":
            placed[number], last = write.place(replaces=True), number
        elif step == "finish" and number in placed:
            write.finish(placed[number])
        elif step == "remove":
            write.remove_staged()
    assert last is not None
    assert content(cut, target) == bodies[last]


def test_files_that_others_put_meanwhile_stay(cut: Cut) -> None:
    target = filled(cut)
    write = FolderWrite.begin(target, "x")
    write.copy(staged(write, cut, NEW))
    placed = write.place(replaces=True)
    cut.put(f"{target}/late", b"late")
    write.finish(placed)
    write.remove_staged()
    assert content(cut, target) == NEW | {"late": b"late"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[",
        b"[" * 100_000,
        b"\xff",
        b"{}",
        b'{"version": 2, "old": [], "last": null}',
        b'{"version": 1, "old": ["../other"], "last": null}',
        b'{"version": 1, "old": ["a/../../other"], "last": null}',
        b'{"version": 1, "old": [1], "last": null}',
        b'{"version": 1, "old": ["a.txt"], "last": ["x", "y"]}',
        b'{"version": 1, "old": [], "last": ["../x", "y"]}',
    ],
)
def test_what_others_have_written_for_it(cut: Cut, body: bytes) -> None:
    """A user who can write into the folder cannot reach other files when a start settles a write."""
    target = filled(cut)
    write = FolderWrite.begin(target, "x")
    cut.put(f"{write.staging}/_placed", body)
    with pytest.raises(SourceError, match="does not tell what a write has put in place"):
        settle_write(write.staging, "x")
    assert {name: text for name, text in content(cut, target).items() if not name.startswith("_writes")} == OLD


def test_staging_folders_are_told_apart() -> None:
    assert is_folder_write(FolderWrite("s3://b/x", uuid4().hex, "").staging)
    for other in (f"s3://b/x/_files/{uuid4().hex}", "/w/_writes/x", "s3://b/_writes", "s3://b/x/_writes/a/b"):
        assert not is_folder_write(other)


def test_a_bucket(moto: S3Server, folder: str) -> None:
    access = s3_access(moto.address)
    ACCESSES.note((access,))
    store = copied_files.store_for_access(f"s3://{BUCKET}", access.id)
    for name, body in OLD.items():
        store.put(f"{folder}/{name}", body)
    write = FolderWrite.begin(folder, access.id)
    put = staged(write, store, NEW)
    carried_out(
        write, [(DataFile(f.path, f.size_bytes, f.modified_ns, tag=f.tag, access=access.id), n) for f, n in put]
    )
    assert content(store, folder) == NEW


def test_what_is_read_alone() -> None:
    access = access_to({}, NO_KEYS)
    ACCESSES.note((access,))
    with pytest.raises(UnsupportedError, match="read-only"):
        require_writable("http://127.0.0.1:1/x", access.id)

"""Objects put right into the folder of a table that Hive and Spark read too."""

from __future__ import annotations

import dataclasses

import pytest

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import ExecutionError, SourceError
from sharkpy.sources.layout import DataFile
from sharkpy.sources.plain_folders import PlainObjects
from sharkpy.sources.storage.store import ObjectFacts, Store
from tests.storage.places import memory_store

T = "s3://memory/wh/t"
STAGED = f"{T}/_files/1"


@pytest.fixture
def store() -> Store:
    pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")
    store = memory_store()
    for name in ("old", "p=1/old", "_SUCCESS", "_files/2/others", ".staging/x"):
        store.put(f"{T}/{name}", b"old")
    store.put("s3://memory/wh/tt/old", b"old")
    for name in ("a.txt", "b.txt"):
        store.put(f"{STAGED}/{name}", name.encode())
    return store


def file_of(facts: ObjectFacts) -> DataFile:
    return DataFile(facts.path, facts.size_bytes, facts.modified_ns, tag=facts.tag)


def write(store: Store, *, overwrite: bool) -> PlainObjects:
    return PlainObjects(lambda: [file_of(one) for one in store.list(STAGED)], T, overwrite, store)


def names(store: Store) -> set[str]:
    """Objects in the folder, without the staged ones."""
    found = {one.path.removeprefix(f"{T}/") for one in store.list(T)}
    assert store.stat("s3://memory/wh/tt/old") is not None
    return {name for name in found if not name.startswith(STAGED.removeprefix(f"{T}/"))}


OTHERS = {"_files/2/others", ".staging/x"}
OLD = {"old", "p=1/old", "_SUCCESS"}
NEW = {"a.txt", "b.txt"}


def test_objects_are_added(store: Store) -> None:
    added = write(store, overwrite=False)
    added.place()
    added.clean()
    assert names(store) == OTHERS | OLD | NEW
    facts = store.stat(f"{T}/b.txt")
    assert facts is not None
    assert b"".join(store.read(facts, [(0, facts.size_bytes)])) == b"b.txt"


def test_objects_replace_others_when_all_is_in_place(store: Store) -> None:
    replacing = write(store, overwrite=True)
    replacing.place()
    assert names(store) == OTHERS | OLD | NEW
    # Rows that another writer adds meanwhile stay.
    store.put(f"{T}/later", b"x")
    replacing.clean()
    assert names(store) == OTHERS | NEW | {"later"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_no_object_is_replaced_by_one_of_its_name(store: Store, overwrite: bool) -> None:
    """LOAD DATA keeps the names of files, which may come again."""
    old = {"a.txt", "a_copy_1.txt"}
    for name in old:
        store.put(f"{T}/{name}", b"old")
    placed = write(store, overwrite=overwrite)
    placed.place()
    assert names(store) == OTHERS | OLD | old | {"a_copy_2.txt", "b.txt"}
    placed.take_back()
    assert names(store) == OTHERS | OLD | old
    again = write(store, overwrite=overwrite)
    again.place()
    again.clean()
    new = {"a_copy_2.txt", "b.txt"}
    assert names(store) == OTHERS | new | (set() if overwrite else OLD | old)


def test_a_folder_that_is_emptied_stays(store: Store) -> None:
    emptied = PlainObjects(list, T, True, store)
    emptied.place()
    emptied.clean()
    assert names(store) == OTHERS | {"_SUCCESS"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_was_placed_is_taken_back(store: Store, overwrite: bool) -> None:
    placed = write(store, overwrite=overwrite)
    placed.place()
    placed.take_back()
    placed.clean()
    assert names(store) == OTHERS | OLD


def test_a_write_that_fails_leaves_what_was_there(store: Store) -> None:
    def staged() -> list[DataFile]:
        first, second = (file_of(one) for one in store.list(STAGED))
        return [first, dataclasses.replace(second, path=f"{STAGED}/gone")]

    placed = PlainObjects(staged, T, True, store)
    with pytest.raises(SourceError):
        placed.place()
    placed.take_back()
    assert names(store) == OTHERS | OLD


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("clean", "rows that were replaced may still be in"),
        ("take_back", "rows of the statement that failed may still"),
    ],
)
def test_rows_that_cannot_be_deleted_are_an_error(
    store: Store, monkeypatch: pytest.MonkeyPatch, step: str, message: str
) -> None:
    replacing = write(store, overwrite=True)
    replacing.place()

    def refused(_self: object, _paths: object) -> None:
        raise SourceError("the server is not there")

    monkeypatch.setattr(type(store), "delete", refused)
    with pytest.raises(ExecutionError, match=message) as caught:
        getattr(replacing, step)()
    assert caught.value.sqlstate == "40003"


@pytest.mark.parametrize("step", ["clean", "take_back"])
def test_a_statement_that_was_cancelled_deletes_all_the_same(store: Store, step: str) -> None:
    replacing, statement = write(store, overwrite=True), Cancellation()
    with statement.active():
        replacing.place()
        statement.cancel()
        getattr(replacing, step)()
    assert names(store) == OTHERS | (NEW if step == "clean" else OLD)

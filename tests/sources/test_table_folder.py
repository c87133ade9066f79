"""Contract of table folders of each kind: what counts, how new generations come to count, and how they go again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharkpy.base import uri
from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.sources.folders.generations import Generation, Placed, hidden_of, is_hidden_name, visible_of
from sharkpy.sources.folders.local_folder import LocalFolder
from sharkpy.sources.folders.remote_folder import RemoteFolder
from sharkpy.sources.folders.table_folder import TableFolder, sync_all, table_folder
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import object_of_file
from tests.storage.places import memory_store

KINDS: dict[str, Callable[[Path], TableFolder]] = {
    "local": lambda path: table_folder(str(path / "t")),
    "bucket": lambda _: RemoteFolder("s3://memory/t", memory_store(), uuid4().hex),
    "unsorted bucket": lambda _: RemoteFolder("s3://memory/t", memory_store(is_sorted=False), uuid4().hex),
}
"""Folder that is not there yet, by kind."""


@pytest.fixture(params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> TableFolder:
    return KINDS[request.param](tmp_path)


def is_local(folder: TableFolder) -> bool:
    return isinstance(folder, LocalFolder)


def put(folder: TableFolder, path: str, text: str) -> None:
    """Write a file at a location."""
    if isinstance(folder, RemoteFolder):
        folder.store.put(path, text.encode())
    else:
        Path(path).write_text(text)


def staged(folder: TableFolder, text: str) -> str:
    staging = folder.make_staging(folder.new_staging())
    if text:
        put(folder, uri.join(staging, "part-0"), text)
    folder.sync_staged(staging)
    return staging


def add(folder: TableFolder, text: str, *, overwrite: bool = False) -> Placed:
    placed = folder.place(staged(folder, text), overwrite)
    assert placed is not None
    folder.sync()
    return placed


def texts(folder: TableFolder, files: Iterable[DataFile] | None) -> list[str]:
    """Content of files."""
    assert files is not None
    if not isinstance(folder, RemoteFolder):
        return [Path(file.path).read_text() for file in files]
    reads = [folder.store.read(object_of_file(file), [(0, file.size_bytes)]) for file in files]
    return [b"".join(map(bytes, read)).decode() for read in reads]


def test_a_folder_that_is_not_there(folder: TableFolder) -> None:
    assert not folder.exists()
    assert folder.newest() == 0
    assert folder.hidden() == frozenset()
    assert folder.partition_files(1, "p=1") == []
    assert folder.deltas(0, 1) is None
    assert not folder.remove_if_empty()
    folder.remove_abandoned()
    folder.remove_hidden()
    folder.remove_beyond(1)
    folder.remove_first()
    folder.remove_empty()
    with pytest.raises(SourceError) as caught:
        folder.files()
    assert caught.value.sqlstate == "58P01"
    assert not folder.exists()


def test_writes_add_and_overwrite(folder: TableFolder) -> None:
    first, second = add(folder, "a"), add(folder, "b")
    assert (first.number, second.number, folder.newest()) == (1, 2, 2)
    assert texts(folder, folder.files()) == ["a", "b"]
    assert texts(folder, folder.files_of(second)) == ["b"]
    assert texts(folder, folder.deltas(0, 2)) == ["a", "b"]
    third = folder.publish(staged(folder, "c"), overwrite=True)
    assert third is not None
    assert third.number == 3
    assert texts(folder, folder.files()) == ["c"]
    assert folder.deltas(0, 1) is None
    assert folder.place(staged(folder, ""), overwrite=False) is None
    assert folder.publish(staged(folder, ""), overwrite=False) is None
    assert add(folder, "", overwrite=True).number == 4
    assert folder.files() == []


def test_a_write_is_undone_and_no_other(folder: TableFolder) -> None:
    add(folder, "a")
    placed = add(folder, "b", overwrite=True)
    folder.take_back(dataclasses.replace(placed, mark="1"))
    assert texts(folder, folder.files()) == ["b"]
    folder.take_back(placed)
    folder.take_back(placed)
    assert texts(folder, folder.files()) == ["a"]


def test_the_catalog_tells_what_counts(folder: TableFolder) -> None:
    assert folder.place_after(staged(folder, "left by a killed one"), 0, overwrite=False).number == 1
    assert folder.files(lambda: 0) == []
    assert folder.place_after(staged(folder, "a"), 0, overwrite=False).number == 1
    assert folder.place_after(staged(folder, "b"), 1, overwrite=True).number == 2
    folder.sync()
    assert texts(folder, folder.files(lambda: 1)) == ["a"]
    assert texts(folder, folder.partition_files(2, "p=1")) == ["b"]
    assert {file.partition for file in folder.partition_files(2, "p=1")} == {"p=1"}
    assert (folder.hidden(1), folder.hidden(2)) == (frozenset(), {"delta_0000001"})
    folder.remove_hidden(2, among=["delta_0000002"])
    assert texts(folder, folder.files(lambda: 1)) == ["a"]
    folder.remove_hidden(2)
    assert folder.files(lambda: 1) == []
    assert folder.place_after(staged(folder, "c"), None, overwrite=False).number == 3
    folder.remove_beyond(2)
    assert texts(folder, folder.files()) == ["b"]


def test_folds_take_the_place_of_generations(folder: TableFolder) -> None:
    for text in "abc":
        add(folder, text)
    known = folder.visible()
    assert [(one.name, texts(folder, files)) for one, files in known] == [
        (f"delta_000000{number}", [text]) for number, text in enumerate("abc", 1)
    ]
    assert folder.visible(1) == known[:1]
    placed = folder.place_fold(staged(folder, "bc"), known[1:], None)
    assert placed is not None
    assert (placed.number, texts(folder, folder.files_of(placed))) == (3, ["bc"])
    assert texts(folder, folder.files()) == ["a", "bc"]
    assert texts(folder, folder.deltas(1, 3)) == ["b", "c"]
    folder.remove_hidden()
    assert folder.deltas(1, 2) is None
    late = staged(folder, "ab")
    assert folder.place_fold(late, known[:2], None) is None
    folder.discard_staging(late)
    folder.discard_staging(late)
    assert texts(folder, folder.files()) == ["a", "bc"]


def test_what_counted_then_is_staged_again(folder: TableFolder) -> None:
    add(folder, "a")
    add(folder, "b", overwrite=True)
    staging = staged(folder, "")
    folder.second_names(1, staging)
    assert texts(folder, folder.staged_files(staging)) == ["a"]
    folder.place(staging, overwrite=True)
    assert texts(folder, folder.files()) == ["a"]


def test_staged_files_are_not_seen(folder: TableFolder) -> None:
    staging = staged(folder, "a")
    inner = folder.staged_subfolder(staging, "p=1/q=2")
    put(folder, uri.join(inner, "part-1"), "b")
    assert folder.staged_subfolder(staging, "") == staging
    assert sorted(texts(folder, folder.staged_files(staging))) == ["a", "b"]
    assert texts(folder, folder.staged_files(inner)) == ["b"]
    assert folder.files() == []
    folder.discard_staging(staging)
    if is_local(folder):
        with pytest.raises(SourceError):
            folder.staged_subfolder(staging, "p=1")
    if folder.exists():
        assert folder.remove_if_empty()
    assert not folder.exists()


def test_what_a_killed_create_table_has_left_goes(folder: TableFolder) -> None:
    folder.publish(staged(folder, "a"), overwrite=True)
    assert not folder.remove_if_empty()
    folder.remove_first()
    assert not folder.exists()


def test_locations_of_local_folders(tmp_path: Path) -> None:
    assert table_folder(f"file://{tmp_path}") == table_folder(f"file:{tmp_path}") == table_folder(str(tmp_path))
    (tmp_path / "one").write_text("a")
    assert texts(table_folder(str(tmp_path)), table_folder(f"{tmp_path}/one").files()) == ["a"]
    with pytest.raises(UnsupportedError, match='file system "hdfs"'):
        table_folder("hdfs://host/x")


def test_many_folders_are_synced_together(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
    sync_all([])
    sync_all([f"{tmp_path}/a"])
    sync_all(f"{tmp_path}/{name}" for name in "abcab")
    with pytest.raises(SourceError, match="gone") as caught:
        sync_all([f"{tmp_path}/a", f"{tmp_path}/gone"])
    assert caught.value.sqlstate == "58P01"


NUMBERS = st.integers(1, 9)
NAMES = st.one_of(
    st.builds(lambda kind, number: f"{kind}_{number:07d}", st.sampled_from(["base", "delta"]), NUMBERS),
    st.builds(lambda first, last: f"delta_{first:07d}_{last:07d}", NUMBERS, NUMBERS),
    st.sampled_from(["plain", "p=1", "_hidden", ".hidden", "base_", "delta_x", "delta_1"]),
)


@given(st.lists(NAMES, unique=True), st.none() | st.integers(0, 9))
def test_each_name_is_visible_hidden_beyond_or_no_data(names: list[str], newest: int | None) -> None:
    visible, hidden = [one.name for one in visible_of(names, newest)], hidden_of(names, newest)
    never = {name for name in names if is_hidden_name(name)}
    beyond = {name for name in names if newest is not None and Generation.of(name).last > newest} - never
    assert sorted([*visible, *hidden, *never, *beyond]) == sorted(names)
    assert visible == [one.name for one in visible_of([name for name in reversed(names) if name not in beyond], None)]


def test_numbers_of_generations() -> None:
    assert Placed("/t", "delta_0000007", "1").number == 7
    assert Placed("/t", "base_0000012", "1").number == 12
    assert Placed("/t", "delta_0000003_0000007", "1").number == 7

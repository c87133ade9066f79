"""Contract of folders whose files are listed: what counts of the generations of earlier releases, and staged files."""

from __future__ import annotations

import dataclasses
import json
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
from sharkpy.sources.folders.table_folder import TableFolder, table_folder
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import object_of_file
from sharkpy.sources.staged_files import take_back
from tests.storage.places import memory_store

Listed = LocalFolder | RemoteFolder
KINDS: dict[str, Callable[[Path], Listed]] = {
    "local": lambda path: LocalFolder(str(path / "t")),
    "bucket": lambda _: RemoteFolder("s3://memory/t", memory_store(), uuid4().hex),
    "unsorted bucket": lambda _: RemoteFolder("s3://memory/t", memory_store(is_sorted=False), uuid4().hex),
}
"""Folder that is not there yet, by kind."""


@pytest.fixture(params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Listed:
    return KINDS[request.param](tmp_path)


def put(folder: TableFolder, path: str, text: str) -> None:
    """Write a file at a location."""
    if isinstance(folder, RemoteFolder):
        folder.store.put(path, text.encode())
    else:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)


def add(folder: TableFolder, name: str, text: str) -> None:
    """Put a generation into a folder, as earlier releases did."""
    if isinstance(folder, RemoteFolder):
        facts = folder.store.put(f"{folder.path}/_files/{uuid4().hex}/part-0", text.encode())
        file = [facts.path.removeprefix(f"{folder.path}/"), facts.size_bytes, facts.modified_ns, facts.tag]
        manifest = {"version": 1, "write": "w", "files": [file]}
        folder.store.put(f"{folder.path}/_generations/{name}", json.dumps(manifest).encode())
    else:
        put(folder, f"{folder.path}/{name}/part-0", text)


def staged(folder: TableFolder, text: str) -> str:
    staging = folder.make_staging(folder.new_staging())
    if text:
        put(folder, uri.join(staging, "part-0"), text)
    folder.sync_staged(staging)
    return staging


def texts(folder: TableFolder, files: Iterable[DataFile]) -> list[str]:
    """Content of files."""
    if not isinstance(folder, RemoteFolder):
        return [Path(file.path).read_text() for file in files]
    reads = [folder.store.read(object_of_file(file), [(0, file.size_bytes)]) for file in files]
    return [b"".join(map(bytes, read)).decode() for read in reads]


def test_a_folder_that_is_not_there(folder: Listed) -> None:
    assert not folder.exists()
    assert folder.newest() == 0
    assert folder.partition_files(1, "p=1") == []
    assert not folder.remove_if_empty()
    folder.remove_abandoned()
    folder.remove_beyond(1)
    folder.remove_empty()
    with pytest.raises(SourceError) as caught:
        folder.files()
    assert caught.value.sqlstate == "58P01"
    assert not folder.exists()


def test_bases_hide_what_is_older(folder: Listed) -> None:
    add(folder, "delta_0000001", "a")
    add(folder, "delta_0000002", "b")
    assert (texts(folder, folder.files()), folder.newest()) == (["a", "b"], 2)
    add(folder, "base_0000003", "c")
    add(folder, "delta_0000004", "d")
    assert (texts(folder, folder.files()), folder.newest()) == (["c", "d"], 4)


def test_the_catalog_tells_what_counts(folder: Listed) -> None:
    for name, text in (("delta_0000001", "a"), ("base_0000002", "b"), ("delta_0000003", "left by a killed one")):
        add(folder, name, text)
    assert folder.files(lambda: 0) == []
    assert texts(folder, folder.files(lambda: 1)) == ["a"]
    assert texts(folder, folder.partition_files(2, "p=1")) == ["b"]
    assert {file.partition for file in folder.partition_files(2, "p=1")} == {"p=1"}
    folder.remove_beyond(2)
    assert texts(folder, folder.files()) == ["b"]


def test_folds_take_the_place_of_generations(folder: Listed) -> None:
    for number, text in enumerate("abc", 1):
        add(folder, f"delta_000000{number}", text)
    known = folder.visible()
    assert [(one.name, texts(folder, files)) for one, files in known] == [
        (f"delta_000000{number}", [text]) for number, text in enumerate("abc", 1)
    ]
    assert folder.visible(1) == known[:1]
    add(folder, "delta_0000002_0000003", "bc")
    assert texts(folder, folder.files()) == ["a", "bc"]


def test_staged_files_are_not_seen(folder: Listed) -> None:
    staging = staged(folder, "a")
    inner = folder.staged_subfolder(staging, "p=1/q=2")
    put(folder, uri.join(inner, "part-1"), "b")
    assert folder.staged_subfolder(staging, "") == staging
    assert sorted(texts(folder, folder.staged_files(staging))) == ["a", "b"]
    assert texts(folder, folder.staged_files(inner)) == ["b"]
    assert folder.files() == []
    folder.discard_staging(staging)
    if isinstance(folder, LocalFolder):
        with pytest.raises(SourceError):
            folder.staged_subfolder(staging, "p=1")
    if folder.exists():
        assert folder.remove_if_empty()
    assert not folder.exists()


def test_locations_of_local_folders(tmp_path: Path) -> None:
    assert table_folder(f"file://{tmp_path}") == table_folder(f"file:{tmp_path}") == table_folder(str(tmp_path))
    (tmp_path / "one").write_text("a")
    assert texts(table_folder(str(tmp_path)), table_folder(f"{tmp_path}/one").files()) == ["a"]
    with pytest.raises(UnsupportedError, match='file system "hdfs"'):
        table_folder("hdfs://host/x")


def test_temporary_tables_have_generations(tmp_path: Path) -> None:
    folder = LocalFolder(str(tmp_path / "t"))
    first, second = (folder.place(staged(folder, text), overwrite=False) for text in "ab")
    assert first is not None
    assert second is not None
    assert (first.number, second.number, texts(folder, folder.files_of(second))) == (1, 2, ["b"])
    third = folder.place(staged(folder, "c"), overwrite=True)
    assert third is not None
    assert folder.hidden(3) == {"delta_0000001", "delta_0000002"}
    folder.remove_hidden(3, among=["delta_0000002"])
    assert folder.hidden(3) == {"delta_0000001"}
    take_back(dataclasses.replace(third, mark="1"))
    assert texts(folder, folder.files()) == ["c"]
    take_back(third)
    take_back(third)
    assert texts(folder, folder.files()) == ["a"]
    assert folder.place(staged(folder, ""), overwrite=False) is None


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

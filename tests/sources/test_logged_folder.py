"""Folder whose files the catalog's log names: writes, folds, removal, and what kills and failures leave."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from sharkpy.catalog.catalog import Catalog
from sharkpy.sources.folders.generations import Placed, is_folded
from sharkpy.sources.folders.logged_folder import LoggedFolder
from sharkpy.sources.folders.table_folder import home_of, table_folder
from sharkpy.sources.layout import DataFile


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with closing(Catalog(tmp_path)) as catalog:
        yield catalog


@pytest.fixture
def folder(catalog: Catalog, tmp_path: Path) -> LoggedFolder:
    location = str(tmp_path / "t")
    catalog.log.begin(location, "")
    found = table_folder(location, catalog)
    assert isinstance(found, LoggedFolder)
    return found


def staged(folder: LoggedFolder, text: str, name: str = "") -> str:
    staging = folder.make_staging(folder.new_staging(name))
    if text:
        Path(staging, "part-0").write_text(text)
    folder.sync_staged(staging)
    return staging


def add(folder: LoggedFolder, text: str, *, overwrite: bool = False) -> Placed:
    staging = staged(folder, text)
    placed = folder.place(staging, overwrite)
    assert placed is not None
    folder.discard_staging(staging)
    return placed


def texts(files: list[DataFile] | None) -> list[str]:
    assert files is not None
    return [Path(file.path).read_text() for file in files]


def on_disk(folder: LoggedFolder) -> list[str]:
    return sorted(path.read_text() for path in Path(folder.path).rglob("*") if path.is_file())


def test_writes_add_and_overwrite(folder: LoggedFolder) -> None:
    assert (folder.files(), folder.newest(), folder.exists()) == ([], 0, False)
    first, second = add(folder, "a"), add(folder, "b")
    assert first.number < second.number == folder.newest()
    assert texts(folder.files()) == ["a", "b"]
    assert texts(folder.files_of(second)) == ["b"]
    assert texts(folder.deltas(0, second.number)) == ["a", "b"]
    assert texts(folder.files(lambda: first.number)) == ["a"]
    third = add(folder, "c", overwrite=True)
    assert texts(folder.partition_files(None, "p=1")) == ["c"]
    assert folder.deltas(second.number, third.number) is None
    assert texts(folder.files(lambda: second.number)) == ["a", "b"]
    empty = staged(folder, "")
    assert folder.place(empty, overwrite=False) is None
    folder.discard_staging(empty)
    assert add(folder, "", overwrite=True).number == folder.newest()
    assert folder.files() == []


def test_nothing_counts_before_the_commit(folder: LoggedFolder, catalog: Catalog) -> None:
    add(folder, "a")
    staging = staged(folder, "b")
    tried = list[Placed | None]()
    with suppress(ZeroDivisionError), catalog.transaction():
        tried.append(folder.place(staging, overwrite=True))
        raise ZeroDivisionError
    (placed,) = tried
    assert placed is not None
    assert texts(folder.files()) == ["a"]
    folder.take_back(placed)
    folder.discard_staging(staging)
    assert on_disk(folder) == ["a"]


def test_discarding_keeps_what_counts(folder: LoggedFolder) -> None:
    staging = staged(folder, "a")
    assert home_of(staging) == folder.path
    folder.place(staging, overwrite=False)
    folder.discard_staging(staging)
    folder.remove_beyond(0)
    assert texts(folder.files()) == ["a"]
    folder.discard_staging(staged(folder, "b"))
    staged(folder, "left by a killed one")
    folder.remove_beyond(0)
    assert on_disk(folder) == ["a"]


def test_files_staged_elsewhere_move_in(folder: LoggedFolder, tmp_path: Path) -> None:
    elsewhere = tmp_path / "other" / "p=1"
    elsewhere.mkdir(parents=True)
    (elsewhere / "part-0").write_text("a")
    placed = folder.place_after(str(elsewhere), None, overwrite=False)
    folder.sync()
    assert texts(folder.files_of(placed)) == ["a"]
    assert not elsewhere.exists()


def test_folds_take_the_place_of_commits(folder: LoggedFolder) -> None:
    numbers = [add(folder, text).number for text in "abc"]
    known = folder.visible()
    assert [(one.last, texts(files)) for one, files in known] == list(zip(numbers, [["a"], ["b"], ["c"]], strict=True))
    placed = folder.place_fold(staged(folder, "bc", known[1][0].name), known[1:], None)
    assert placed is not None
    assert texts(folder.files_of(placed)) == ["bc"]
    assert texts(folder.files()) == ["a", "bc"]
    assert texts(folder.files(lambda: numbers[1])) == ["a", "b"]
    assert folder.deltas(numbers[0], numbers[2]) is None
    assert folder.newest() == numbers[2]
    late = staged(folder, "ab")
    assert folder.place_fold(late, known[:2], None) is None
    folder.discard_staging(late)
    assert len(folder.hidden()) == 2
    folder.remove_hidden()
    assert on_disk(folder) == ["a", "bc"]
    assert add(folder, "d").number > numbers[2]
    assert texts(folder.files()) == ["a", "bc", "d"]


def test_files_of_folds_are_known_by_their_paths(folder: LoggedFolder) -> None:
    add(folder, "a"), add(folder, "b")
    known = folder.visible()
    folder.place_fold(staged(folder, "ab", "delta_0000001_0000002"), known, None)
    assert [is_folded(file.path) for file in folder.files()] == [True]
    assert not any(is_folded(file.path) for _, files in known for file in files)


def test_removal_takes_what_was_noted(folder: LoggedFolder) -> None:
    first = add(folder, "a")
    second = add(folder, "b", overwrite=True)
    noted = folder.hidden(second.number)
    third = add(folder, "c", overwrite=True)
    assert folder.hidden(first.number) == frozenset()
    folder.remove_hidden(third.number, noted)
    assert on_disk(folder) == ["b", "c"]
    folder.remove_hidden(third.number)
    assert on_disk(folder) == ["c"]
    assert texts(folder.files()) == ["c"]


def test_what_counted_then_is_staged_again(folder: LoggedFolder) -> None:
    first = add(folder, "a")
    add(folder, "b", overwrite=True)
    staging = staged(folder, "")
    folder.second_names(first.number, staging)
    folder.place(staging, overwrite=True)
    assert texts(folder.files()) == ["a"]

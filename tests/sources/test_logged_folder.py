"""Contract of folders whose files the catalog's log names, on a disk and in stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from unittest.mock import Mock

import pytest

from sharkpy.catalog.catalog import Catalog
from sharkpy.sources.folders.generations import Placed, is_folded
from sharkpy.sources.folders.logged_folder import LoggedFiles, LoggedFolder, LoggedObjects
from sharkpy.sources.folders.staged_writes import STAGED
from sharkpy.sources.folders.table_folder import home_of
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import object_of_file
from sharkpy.sources.staged_files import take_back
from sharkpy.sources.storage import local_store
from tests.storage.places import memory_store


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with closing(Catalog(tmp_path)) as catalog:
        yield catalog


@pytest.fixture(params=["local", "bucket", "unsorted bucket"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def made(catalog: Catalog, tmp_path: Path, kind: str) -> Callable[[str], LoggedFolder]:
    """Makes logged folders in the same place."""
    store = memory_store(is_sorted=kind == "bucket") if kind != "local" else None

    def make(name: str) -> LoggedFolder:
        location = str(tmp_path / name) if store is None else f"s3://memory/{name}"
        catalog.log.begin(location, "")
        folder_id = catalog.log.find(location)
        assert folder_id is not None
        if store is None:
            return LoggedFiles(location, catalog.log, folder_id)
        return LoggedObjects(location, catalog.log, folder_id, store, "access")

    return make


@pytest.fixture
def folder(made: Callable[[str], LoggedFolder]) -> LoggedFolder:
    return made("t")


def staged(folder: LoggedFolder, text: str, name: str = "") -> str:
    staging = folder.make_staging(folder.new_staging(name))
    if text and isinstance(folder, LoggedObjects):
        folder.store.put(f"{staging}/part-0", text.encode())
    elif text:
        Path(staging, "part-0").write_text(text)
    folder.sync_staged(staging)
    return staging


def add(folder: LoggedFolder, text: str, *, overwrite: bool = False) -> Placed:
    staging = staged(folder, text)
    placed = folder.place(staging, overwrite)
    assert placed is not None
    folder.discard_staging(staging)
    return placed


def text_of(folder: LoggedFolder, file: DataFile) -> str:
    if isinstance(folder, LoggedObjects):
        (content,) = folder.store.read(object_of_file(file), [(0, file.size_bytes)])
        return bytes(content).decode()
    return Path(file.path).read_text()


def texts(folder: LoggedFolder, files: list[DataFile] | None) -> list[str]:
    assert files is not None
    return [text_of(folder, file) for file in files]


def on_disk(folder: LoggedFolder) -> list[str]:
    if isinstance(folder, LoggedObjects):
        return sorted(
            b"".join(folder.store.read(one, [(0, one.size_bytes)])).decode() for one in folder.store.list(folder.path)
        )
    return sorted(path.read_text() for path in Path(folder.path).rglob("*") if path.is_file())


def test_writes_add_and_overwrite(folder: LoggedFolder) -> None:
    assert (folder.files(), folder.newest(), folder.exists()) == ([], 0, False)
    first, second = add(folder, "a"), add(folder, "b")
    assert first.number < second.number == folder.newest()
    assert texts(folder, folder.files()) == ["a", "b"]
    assert texts(folder, folder.files_of(second)) == ["b"]
    assert texts(folder, folder.deltas(0, second.number)) == ["a", "b"]
    assert texts(folder, folder.files(lambda: first.number)) == ["a"]
    third = add(folder, "c", overwrite=True)
    assert texts(folder, folder.partition_files(None, "p=1")) == ["c"]
    assert folder.deltas(second.number, third.number) is None
    assert texts(folder, folder.files(lambda: second.number)) == ["a", "b"]
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
    assert texts(folder, folder.files()) == ["a"]
    take_back(placed)
    folder.discard_staging(staging)
    assert on_disk(folder) == ["a"]


def test_discarding_keeps_what_counts(folder: LoggedFolder) -> None:
    staging = staged(folder, "a")
    assert home_of(staging) == folder.path
    folder.place(staging, overwrite=False)
    folder.discard_staging(staging)
    folder.remove_beyond(0)
    assert texts(folder, folder.files()) == ["a"]
    folder.discard_staging(staged(folder, "b"))
    left = staged(folder, "left by a killed one")
    STAGED.end(left)
    folder.discard_staging(left)
    assert on_disk(folder) == ["a"]


@pytest.mark.parametrize("kind", ["local"])
def test_files_staged_elsewhere_move_in(folder: LoggedFolder, tmp_path: Path) -> None:
    elsewhere = tmp_path / "other" / "p=1"
    elsewhere.mkdir(parents=True)
    (elsewhere / "part-0").write_text("a")
    placed = folder.place_all(str(elsewhere), overwrite=False)
    folder.sync()
    assert texts(folder, folder.files_of(placed)) == ["a"]
    assert not elsewhere.exists()


def test_folds_take_the_place_of_commits(folder: LoggedFolder) -> None:
    numbers = [add(folder, text).number for text in "abc"]
    known = folder.visible()
    assert [(one.last, texts(folder, files)) for one, files in known] == list(
        zip(numbers, [["a"], ["b"], ["c"]], strict=True)
    )
    placed = folder.place_fold(staged(folder, "bc", known[1][0].name), known[1:], None)
    assert placed is not None
    assert texts(folder, folder.files_of(placed)) == ["bc"]
    assert texts(folder, folder.files()) == ["a", "bc"]
    assert texts(folder, folder.files(lambda: numbers[1])) == ["a", "b"]
    assert folder.deltas(numbers[0], numbers[2]) is None
    assert folder.newest() == numbers[2]
    late = staged(folder, "ab")
    assert folder.place_fold(late, known[:2], None) is None
    folder.discard_staging(late)
    assert len(folder.hidden()) == 2
    folder.remove_hidden()
    assert on_disk(folder) == ["a", "bc"]
    assert add(folder, "d").number > numbers[2]
    assert texts(folder, folder.files()) == ["a", "bc", "d"]


def test_a_fold_that_fails_leaves_nothing(folder: LoggedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    add(folder, "a"), add(folder, "b")
    known = folder.visible()
    with monkeypatch.context() as patch:
        patch.setattr(type(folder.log), "fold", Mock(side_effect=OSError))
        # The files of Hive partitions are staged for another folder, too.
        staging = staged(folder, "ab", known[0][0].name)
        if isinstance(folder, LoggedFiles):
            staging = str(Path(staging).rename(Path(folder.path).with_name("elsewhere")))
        with pytest.raises(OSError):
            folder.place_fold(staging, known, None)
    folder.discard_staging(staging)
    assert texts(folder, folder.files()) == on_disk(folder) == ["a", "b"]


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
    assert texts(folder, folder.files()) == ["c"]


def test_what_counted_then_is_staged_again(folder: LoggedFolder) -> None:
    first = add(folder, "a")
    add(folder, "b", overwrite=True)
    staging = staged(folder, "")
    folder.second_names(first.number, staging)
    placed = folder.place(staging, overwrite=True)
    folder.discard_staging(staging)
    assert placed is not None
    assert texts(folder, folder.files()) == texts(folder, folder.files_of(placed)) == ["a"]
    folder.remove_hidden()
    assert on_disk(folder) == ["a"]
    assert texts(folder, folder.files()) == ["a"]


def test_the_last_folder_that_needs_a_file_deletes_it(made: Callable[[str], LoggedFolder]) -> None:
    source, clone = made("a"), made("b")
    add(source, "1"), add(source, "2")
    staging = staged(clone, "")
    source.second_names(None, staging)
    clone.place(staging, overwrite=True)
    clone.discard_staging(staging)
    assert texts(clone, clone.files()) == ["1", "2"]
    add(source, "3", overwrite=True)
    source.remove_hidden()
    assert (on_disk(source), on_disk(clone)) == (["1", "2", "3"], [])
    assert source.hidden() == frozenset()
    add(clone, "4", overwrite=True)
    clone.remove_hidden()
    assert (on_disk(source), on_disk(clone)) == (["3"], ["4"])


@pytest.mark.parametrize("kind", ["local"])
def test_a_folder_is_synced_before_its_files_are_placed(
    folder: LoggedFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(local_store, "sync_path", synced.append)
    home = str(Path(folder.path, "_files"))
    staging = staged(folder, "a")
    assert synced == [str(Path(staging, "part-0")), home]
    assert folder.place(staging, overwrite=False) is not None
    assert folder.place_fold(staged(folder, "a", "fold"), folder.visible(), None) is not None
    assert synced.count(home) == 2
    # Files that are staged in another folder are synced there. This folder has to be synced after they have moved.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "part-0").write_text("b")
    folder.sync_staged(str(elsewhere))
    assert synced.count(home) == 2
    assert folder.place(str(elsewhere), overwrite=False) is not None
    assert synced.count(home) == 3

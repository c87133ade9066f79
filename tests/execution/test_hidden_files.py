"""Deletion of hidden generations, while readers come and leave."""

from __future__ import annotations

import os
import threading
from contextlib import closing
from pathlib import Path

import pytest

from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.folder_readers import FolderReaders
from sharkpy.catalog.model import Table, TableKind
from sharkpy.execution.tables.hidden_files import HiddenFiles
from sharkpy.sources.folders.logged_folder import LoggedFiles
from sharkpy.sources.folders.table_folder import logged_folder
from sharkpy.values.types import Schema
from tests.waiting import until


def table_at(location: str) -> Table:
    return Table("t", "default", "t", TableKind.EXTERNAL, Schema(()), location=location)


def put(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).mkdir()
        (folder / name / "part-0").write_text(name)


def test_what_was_hidden_goes_when_its_readers_have_left(tmp_path: Path) -> None:
    readers = FolderReaders(str(tmp_path / "readers"), str(tmp_path))
    folder = tmp_path / "t"
    folder.mkdir()
    put(folder, "delta_0000001", "delta_0000002")
    hidden, location = HiddenFiles(readers), str(folder)
    with readers.reading(location):
        put(folder, "base_0000003")
        hidden.note(table_at(location), {location: 3})
        assert len(os.listdir(folder)) == 3
        with readers.reading(location):
            pass
    hidden.delete(location)
    assert os.listdir(folder) == ["base_0000003"]
    readers.close()


def test_a_fold_of_the_same_generations_waits_for_its_own_readers(tmp_path: Path) -> None:
    readers = FolderReaders(str(tmp_path / "readers"), str(tmp_path))
    folder = tmp_path / "t"
    folder.mkdir()
    put(folder, "delta_0000001", "delta_0000002", "delta_0000003")
    hidden, location = HiddenFiles(readers), str(folder)
    first = readers.enter(location)
    put(folder, "delta_0000001_0000002")
    hidden.note(table_at(location), {location: 3})
    second = readers.enter(location)
    readers.leave(first)
    # What the first deletion waits for has left; the second reader has listed the first fold.
    put(folder, "delta_0000001_0000003")
    hidden.note(table_at(location), {location: 3})
    assert sorted(os.listdir(folder)) == ["delta_0000001_0000002", "delta_0000001_0000003", "delta_0000003"]
    readers.leave(second)
    hidden.delete(location)
    assert os.listdir(folder) == ["delta_0000001_0000003"]
    readers.close()


def test_an_append_does_not_wait_for_the_deletion_of_folded_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleting: list[str] = []
    remove = LoggedFiles.remove_hidden

    def removing(folder: LoggedFiles, newest: int | None, among: frozenset[str]) -> None:
        deleting.append(threading.current_thread().name)
        remove(folder, newest, among)

    monkeypatch.setattr(LoggedFiles, "remove_hidden", removing)
    with closing(Catalog(str(tmp_path / "warehouse"))) as catalog:
        location = str(tmp_path / "t")
        catalog.log.begin(location, "")
        folder, hidden = logged_folder(location, catalog), HiddenFiles(catalog.readers, catalog)

        def stage(text: str) -> str:
            staging = folder.make_staging(folder.new_staging())
            Path(staging, "part-0").write_text(text)
            return staging

        def on_disk() -> list[str]:
            return sorted(path.read_text() for path in Path(location).rglob("part-0"))

        for text in "ab":
            assert folder.place(stage(text), overwrite=False) is not None
        table, newest = table_at(location), {location: folder.newest()}
        with catalog.readers.reading(location):
            assert folder.place_fold(stage("ab"), folder.visible(), None) is not None
            hidden.note(table, newest)
            assert on_disk() == ["a", "ab", "b"]
        hidden.note_added(table, newest)
        until(lambda: on_disk() == ["ab"])
        assert [name.startswith("sharkpy-sync") for name in deleting] == [True]

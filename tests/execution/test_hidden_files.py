"""Deletion of hidden generations, while readers come and leave."""

from __future__ import annotations

import os
from pathlib import Path

from sharkpy.catalog.folder_readers import FolderReaders
from sharkpy.catalog.model import Table, TableKind
from sharkpy.execution.tables.hidden_files import HiddenFiles
from sharkpy.values.types import Schema


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

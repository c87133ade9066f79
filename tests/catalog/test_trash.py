"""Folders vanish at once, and their files are deleted soon after."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

import sharkpy
from sharkpy.catalog.trash import Trash


def _table(folder: Path, files: int = 3) -> str:
    folder.mkdir(parents=True)
    for number in range(files):
        (folder / f"part-{number}").touch()
    return str(folder)


def _is_empty(folder: Path) -> bool:
    return not folder.exists() or not any(folder.iterdir())


def test_a_folder_is_gone_at_once(tmp_path: Path) -> None:
    trash = Trash(str(tmp_path / "trash"))
    path = _table(tmp_path / "t")
    assert trash.take(path)
    assert not os.path.lexists(path)
    assert trash.take(path)
    trash.empty()
    assert _is_empty(tmp_path / "trash")


def test_what_takes_long_goes_while_the_process_goes_on(tmp_path: Path) -> None:
    trash = Trash(str(tmp_path / "trash"))
    for number in range(5):
        trash.take(_table(tmp_path / f"t{number}"))
    trash.take(_table(tmp_path / "outer" / "inner"))
    trash.empty(0)
    trash.close()
    assert _is_empty(tmp_path / "trash")
    trash.close()


def test_a_file_and_a_link(tmp_path: Path) -> None:
    trash = Trash(str(tmp_path / "trash"))
    kept = _table(tmp_path / "kept")
    (tmp_path / "link").symlink_to(kept)
    (tmp_path / "file").touch()
    assert trash.discard(str(tmp_path / "link"))
    assert trash.discard(str(tmp_path / "file"))
    assert _is_empty(tmp_path / "trash")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "trash"]
    assert len(list(Path(kept).iterdir())) == 3


def test_a_folder_of_another_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rename(_source: str, _target: str) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(os, "rename", rename)
    path = _table(tmp_path / "t")
    assert Trash(str(tmp_path / "trash")).take(path)
    assert not os.path.lexists(path)


def test_the_folder_that_holds_the_warehouse_stays(tmp_path: Path) -> None:
    trash = Trash(str(tmp_path / "w" / "trash"))
    _table(tmp_path / "w" / "t")
    trash.take(str(tmp_path / "w"))
    assert (tmp_path / "w" / "t" / "part-0").exists()


def test_what_a_killed_process_has_left_goes_with_the_next_start(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w"):
        pass
    left = tmp_path / "w" / ".sharkpy" / "trash"
    assert left.parent.is_dir()
    _table(left / "0123" / "k=1")
    with sharkpy.connect("local[2]", tmp_path / "w"):
        pass
    assert _is_empty(left)

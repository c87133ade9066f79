from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from sharkpy.base.errors import BindError
from sharkpy.catalog.trash import Trash, is_shared_folder, require_own_folder


def test_folders_of_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home" / "me"
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    shared = ["/", "/usr", "/data", tempfile.gettempdir(), str(home), str(home.parent), f"{home}/../me"]
    assert [path for path in shared if not is_shared_folder(path)] == []
    link = tmp_path / "link"
    link.symlink_to(home)
    assert is_shared_folder(str(link))
    assert not is_shared_folder(str(home / "table"))
    assert not is_shared_folder("/data/table")


def test_nothing_in_them_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    mine = tmp_path / "home" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("x")
    with pytest.raises(BindError, match=r"^dropping would delete the content of"):
        require_own_folder(str(tmp_path / "home"), "dropping")
    assert Trash(str(tmp_path / "trash")).discard(str(tmp_path / "home"))
    assert mine.read_text() == "x"

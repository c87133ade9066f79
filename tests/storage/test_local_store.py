"""Facts about the store of local files that other stores do not have: links, devices, folders, the disk."""

from __future__ import annotations

import errno
import io
import os
import time
from pathlib import Path

import pytest

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import CancelledError, ResourceError, SourceError
from sharkpy.sources.copied_files import copy_files, delete_unchanged
from sharkpy.sources.open_files import data_file_of, store_for_access
from sharkpy.sources.storage.local_store import LOCAL
from sharkpy.sources.storage.store import UPLOAD, ObjectFacts, content_of


def names(folder: Path) -> list[str]:
    return [facts.path.removeprefix(f"{folder}/") for facts in LOCAL.list(str(folder))]


def test_a_local_path_needs_no_access(tmp_path: Path) -> None:
    assert store_for_access(str(tmp_path), "") is LOCAL


def test_links_are_followed_but_deleted_themselves(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    folder.mkdir()
    (outside / "x").write_text("12345")
    (folder / "file").symlink_to(outside / "x")
    (folder / "below").symlink_to(outside)
    (folder / "nowhere").symlink_to(tmp_path / "none")
    assert names(folder) == ["below/x", "file", "nowhere"]
    facts = LOCAL.stat(str(folder / "file"))
    assert facts is not None
    assert content_of(facts, LOCAL) == b"12345"
    assert LOCAL.stat(str(folder / "nowhere")) is None
    LOCAL.delete([str(folder / "file"), str(folder / "below"), str(folder / "nowhere")])
    assert names(folder) == []
    assert (outside / "x").exists()


def test_a_pipe_is_listed_and_cannot_be_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (facts,) = LOCAL.list(str(tmp_path))
    with pytest.raises(SourceError, match="a device or a pipe"):
        content_of(facts, LOCAL)


def test_a_failed_put_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "x")
    LOCAL.put(path, b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(ResourceError, match="disk full") as caught:
            LOCAL.put(path, b"new")
    assert caught.value.sqlstate == "53100"
    statement = Cancellation()
    statement.cancel()
    with statement.active(), pytest.raises(CancelledError):
        LOCAL.put(path, io.BytesIO(b"new"))
    assert Path(path).read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x"]


def test_unfinished_files_are_hidden_and_removed(tmp_path: Path) -> None:
    LOCAL.put(str(tmp_path / "t/x"), b"1")
    for name in (f"t/{UPLOAD}1", f"{UPLOAD}2"):
        (tmp_path / name).write_text("half of")
    assert names(tmp_path) == ["t/x"]
    assert LOCAL.children(str(tmp_path)) == ([], [str(tmp_path / "t")])
    assert LOCAL.remove_uploads(str(tmp_path), 0) == 0
    assert LOCAL.remove_uploads(str(tmp_path), time.time_ns() + 10**9) == 2
    assert names(tmp_path) == ["t/x"]


def test_errors_name_the_path(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("1")
    with pytest.raises(SourceError, match="x/y") as caught:
        LOCAL.put(str(tmp_path / "x/y"), b"1")
    assert caught.value.sqlstate in ("58P01", "58030")
    with pytest.raises(SourceError, match='none" does not exist') as caught:
        LOCAL.move(ObjectFacts(str(tmp_path / "none"), 1, 0), str(tmp_path / "y"))
    assert caught.value.sqlstate == "58P01"


def test_a_name_is_taken_once_on_a_disk_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    assert LOCAL.put_new(str(tmp_path / "n"), b"first")
    assert not LOCAL.put_new(str(tmp_path / "n"), b"second")
    assert (tmp_path / "n").read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["n"]


def test_a_move_is_a_rename(tmp_path: Path) -> None:
    facts = LOCAL.put(str(tmp_path / "x"), b"1")
    number = (tmp_path / "x").stat().st_ino
    LOCAL.move(facts, str(tmp_path / "in/y"))
    assert names(tmp_path) == ["in/y"]
    assert (tmp_path / "in/y").stat().st_ino == number


def test_files_and_folders_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [LOCAL.put(str(tmp_path / name), io.BytesIO(b"1")).path for name in "ab"]
    synced = list[str]()
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.readlink(f"/proc/self/fd/{file}")))
    LOCAL.sync([*paths, str(tmp_path), *paths])
    assert sorted(synced) == sorted([*paths, str(tmp_path)])


def test_copies_keep_out_of_a_folder_that_is_gone(tmp_path: Path) -> None:
    """The table of a staging folder may have been dropped while its files are copied."""
    file = data_file_of(LOCAL.put(str(tmp_path / "x"), b"1"), "")
    with pytest.raises(SourceError, match='gone/x" does not exist') as caught:
        copy_files([(file, str(tmp_path / "gone/x"))])
    assert caught.value.sqlstate == "58P01"
    assert not (tmp_path / "gone").exists()
    (tmp_path / "there").mkdir()
    copy_files([(file, str(tmp_path / "there/x"))])
    assert (tmp_path / "there/x").read_bytes() == b"1"


def test_a_changed_file_is_neither_copied_nor_deleted(tmp_path: Path) -> None:
    file = data_file_of(LOCAL.put(str(tmp_path / "x"), b"1"), "")
    (tmp_path / "x").write_text("other")
    with pytest.raises(SourceError, match="was changed"):
        copy_files([(file, str(tmp_path / "y"))])
    with pytest.raises(SourceError, match="was changed after it was copied"):
        delete_unchanged([file])
    assert (tmp_path / "x").read_text() == "other"
    assert not (tmp_path / "y").exists()


def test_the_time_of_a_put_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of files has coarse ticks on many systems, within which a file may be replaced."""
    monkeypatch.setattr(time, "time_ns", iter([10**18 + 1, 10**18 + 2]).__next__)
    for number in (1, 2):
        facts = LOCAL.put(str(tmp_path / "x"), b"%d" % number)
        assert facts.modified_ns == 10**18 + number
        assert LOCAL.stat(str(tmp_path / "x")) == facts

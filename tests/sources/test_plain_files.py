"""Files put right into a folder, and taken back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sharkpy.base.errors import SourceError
from sharkpy.sources import layout, staged_files
from sharkpy.sources.plain_folders import PlainFiles
from tests.sources.staging_folder import new_staging

MARK = re.compile(r"part-\d+-[0-9a-f]{8}-")


def _files(folder: Path) -> dict[str, str]:
    """Content of files by name, without the marks of writes."""
    found = {str(Path(file.path).relative_to(folder)): Path(file.path).read_text() for file in _listed(folder)}
    return {MARK.sub("part-", name): text for name, text in found.items()}


def _listed(folder: Path) -> list[layout.DataFile]:
    return layout.list_data_files(str(folder))


def _write(folder: Path, text: str, overwrite: bool, name: str = "part-00000.txt") -> PlainFiles:
    staging = new_staging(folder)
    Path(staging, name).write_text(text)
    files = PlainFiles(staging, str(folder), overwrite)
    files.place()
    staged_files.discard_staging(staging)
    return files


def test_more_files_get_free_names(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    for text in "abc":
        _write(folder, text, False).clean()
    assert [Path(file.path).read_text() for file in _listed(folder)] == ["a", "b", "c"]
    for text in "de":
        _write(folder, text, False, "000000_0").clean()
    assert _files(folder) == {"000000_0": "d", "000000_0_copy_1": "e", "part-00000.txt": "c"}


def test_other_files_take_their_place_and_leave_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    _write(folder, "a", False)
    Path(folder, "sub").mkdir()
    Path(folder, "sub", "f").write_text("b")
    _write(folder, "c", True).clean()
    assert _files(folder) == {"part-00000.txt": "c"}
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_taking_back_gives_what_was_there(tmp_path: Path, overwrite: bool) -> None:
    folder = tmp_path / "t"
    _write(folder, "a", False)
    files = _write(folder, "b", overwrite)
    assert "b" in _files(folder).values()
    files.take_back()
    files.clean()
    assert _files(folder) == {"part-00000.txt": "a"}
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


@pytest.mark.parametrize("is_kept", [True, False])
def test_what_others_are_about_to_add_stays_with_the_folder(tmp_path: Path, is_kept: bool) -> None:
    folder = tmp_path / "t"
    _write(folder, "a", False)
    staging = new_staging(folder)
    Path(staging, "later.txt").write_text("c")
    files = _write(folder, "b", True)
    if not is_kept:
        files.take_back()
    files.clean()
    PlainFiles(staging, str(folder), False).place()
    assert _files(folder) == {"part-00000.txt": "b" if is_kept else "a", "later.txt": "c"}


def test_staged_rows_that_are_gone_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        PlainFiles(str(tmp_path / "gone"), str(tmp_path / "t"), False).place()


def test_a_link_to_a_folder_stays_one(tmp_path: Path) -> None:
    Path(tmp_path, "real").mkdir()
    Path(tmp_path, "t").symlink_to(tmp_path / "real")
    _write(tmp_path / "t", "a", True).clean()
    assert Path(tmp_path, "t").is_symlink()
    assert _files(tmp_path / "real") == {"part-00000.txt": "a"}


def test_a_file_in_the_way_is_one_error(tmp_path: Path) -> None:
    staging = new_staging(tmp_path)
    Path(tmp_path, "t").write_text("")
    with pytest.raises(SourceError):
        PlainFiles(staging, str(tmp_path / "t"), False).place()

"""Committed changes reach the catalog's file after the commits, or, at a bound, by one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sharkpy.catalog import database_file
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.database_file import MOST_PAGES, Checkpoints
from tests.waiting import until

ADD = "INSERT INTO garbage VALUES (?)"
COUNT = "SELECT count(*) FROM garbage"
PAGE = 4096
FORMER_MOST = 1000 * PAGE
"""Size of a log at which SQLite lets a commit make a checkpoint if nothing else is said."""


def fill(catalog: Catalog, number: int) -> None:
    """Commit rows of a page each."""
    (first,) = catalog._file.row(COUNT)  # type: ignore[misc]
    for place in range(first, first + number):
        with catalog.transaction():
            catalog._file.run(ADD, f"{place:06}" + "x" * 3000)


def sizes(catalog: Catalog) -> tuple[int, int]:
    """Bytes of the file and of its log."""
    return Path(catalog.file_path).stat().st_size, Path(f"{catalog.file_path}-wal").stat().st_size


def test_no_commit_makes_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_file, "_SECONDS", 1e9)
    catalog = Catalog(tmp_path / "w")
    before, _ = sizes(catalog)
    fill(catalog, 600)
    after, log = sizes(catalog)
    assert after == before
    assert log > FORMER_MOST
    catalog.close()


def test_checkpoints_are_made_behind_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_file, "_SECONDS", 0.01)
    catalog = Catalog(tmp_path / "with space & #")
    before, _ = sizes(catalog)

    def has_grown() -> bool:
        fill(catalog, 1)
        return sizes(catalog)[0] > before

    until(has_grown)
    # A reader of an earlier moment holds no other session up.
    with catalog._file.reading():
        (first,) = catalog._file.row(COUNT)  # type: ignore[misc]
        catalog._file._checkpoints._checkpoint()
    fill(catalog, 300)
    catalog.close()
    assert not Path(f"{catalog.file_path}-wal").exists()
    again = Catalog(tmp_path / "with space & #")
    assert again._file.row(COUNT) == (first + 300,)
    again.close()


def test_without_the_thread_the_log_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Checkpoints, "note_commit", lambda _: None)
    catalog = Catalog(tmp_path / "w")
    before, _ = sizes(catalog)
    fill(catalog, 3000)
    after, log = sizes(catalog)
    assert after > before
    assert log < 2 * MOST_PAGES * PAGE
    catalog.close()


def test_a_file_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    Checkpoints(str(tmp_path / "none.sqlite"))._checkpoint()
    assert not list(tmp_path.iterdir())


def test_one_at_a_time_and_none_after_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[int]()
    monkeypatch.setattr(database_file, "_SECONDS", 0.0)
    monkeypatch.setattr(Checkpoints, "_checkpoint", lambda _: made.append(1))
    one = Checkpoints(str(tmp_path / "none.sqlite"))
    one.note_commit()
    until(lambda: made)
    one.close()
    one.note_commit()
    assert made == [1]

"""Pages for people who change the code: short, linked, and without names of files that are not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_layers import ROOT, files

DOCUMENTS = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
PAGES = sorted({page for folder in {path.parent for path in files()} if (page := folder / "README.md").is_file()})
"""Pages of the rooms and of folders in them."""
MOST_LINES = 60
_FILE = re.compile(r"`([\w.-]+(?:/[\w.-]+)*(?:\.(?:py|md|json|toml|slt)|/))`")
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
_TO_CHANGE = re.compile(r"^(\| to change \|.*)\n\|[-|]+\n((?:\|.*\n)+)", re.MULTILINE)
"""Table of where to change what: its header, and its rows."""


def _names(page: Path) -> set[str]:
    return {name for name in _FILE.findall(page.read_text()) if not name.startswith("build/")}


def _links(page: Path) -> set[Path]:
    return {(page.parent / link).resolve() for link in _LINK.findall(page.read_text())}


def _tests(row: str) -> list[str]:
    """Return the existing tests that the last cell of a row names."""
    names = _FILE.findall(row.rpartition(" | ")[2])
    return [name for name in names if name.startswith("tests/") and (ROOT / name).exists()]


@pytest.mark.parametrize("page", [*DOCUMENTS, *PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_is_there(page: Path) -> None:
    assert [name for name in sorted(_names(page)) if not any((at / name).exists() for at in (page.parent, ROOT))] == []
    assert [link for link in sorted(_links(page)) if not link.exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_room_has_a_short_page_that_is_found(page: Path) -> None:
    assert len(page.read_text().splitlines()) <= MOST_LINES
    assert any(page in _links(other) for other in (ROOT / "ARCHITECTURE.md", *PAGES) if other != page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_is_to_change_has_tests(page: Path) -> None:
    """Each row of a table "to change" names the tests of the files in that row."""
    for header, rows in _TO_CHANGE.findall(page.read_text()):
        assert header == "| to change | look at | tests |"
        assert [row for row in rows.splitlines() if not _tests(row)] == []

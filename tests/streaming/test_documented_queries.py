"""Examples of the pages of docs/continuous run, and return the answers below them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sharkpy
from tests.rows import rows
from tests.waiting import until

FOLDER = Path(__file__).parents[2] / "docs" / "continuous"
PAGES = sorted(FOLDER.glob("*.md"))
_BLOCK = re.compile(r"```(sql|json|text|python) ?(\w*)\n(.*?)```", re.DOTALL)
_LINK = re.compile(r"\]\(([\w./-]+\.md)(?:#([\w-]+))?\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def answer(context: sharkpy.SharkContext, query: str) -> list[str]:
    found = rows(context, query)
    return ["  ".join("NULL" if value is None else str(value) for value in row) for row in found]


def gives(context: sharkpy.SharkContext, query: str, expected: list[str]) -> bool:
    """True if these are the rows of the query; of EXPLAIN, if they are among its lines."""
    found = answer(context, query)
    return set(expected) <= set(found) if query.startswith("EXPLAIN") else found == expected


@pytest.mark.variants(3)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    query, checked = "", 0
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        names: dict[str, object] = {"__name__": "functions_of_the_page", "ctx": context}
        for number, (kind, folder, text) in enumerate(_BLOCK.findall(page.read_text())):
            if kind == "json":
                Path(folder).mkdir(exist_ok=True)
                Path(folder, f".{number}").write_text(text)
                Path(folder, f".{number}").rename(Path(folder, f"{number}.json"))
            elif kind == "python":
                exec(compile(text, str(page), "exec"), names)
            elif kind == "sql":
                *commands, query = (one for one in map(str.strip, text.split(";")) if one)
                is_asked = query.startswith(("SELECT", "EXPLAIN"))
                for one in commands if is_asked else [*commands, query]:
                    context.sql(one)
            else:
                expected = text.splitlines()
                until(lambda query=query, expected=expected: gives(context, query, expected))
                checked += 1
    assert checked >= 3


def test_the_first_page_lists_the_others() -> None:
    text = (FOLDER / "README.md").read_text()
    listed = re.findall(r"^\| \[([\w-]+\.md)\]", text, re.MULTILINE)
    assert sorted([*listed, "README.md"]) == [page.name for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links(page: Path) -> None:
    """Links lead to existing pages, and to headings in them."""
    for name, section in _LINK.findall(page.read_text()):
        headings = _HEADING.findall((page.parent / name).read_text())
        anchors = [re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings]
        assert not section or section in anchors, (name, section)

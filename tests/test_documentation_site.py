"""Site of the documentation: pages are generated from the code, and each page of docs/ is in the navigation once."""

from __future__ import annotations

import re
import runpy
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from sharkpy import errors
from sharkpy.base.errors import SQLSTATES
from sharkpy.base.settings import SETTINGS
from sharkpy.sql.forms import FORMS
from sharkpy.udf import registry

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GENERATOR: dict[str, Any] = runpy.run_path(str(DOCS / "generate.py"))
_INTERNAL = re.compile(
    r"[lg][te]_any|ne_any|decimal_parts|\w+_moment|moment_text|time_window|\w+_of_\w+|windows_\w+|\w+cending"
)
"""Functions that only the binder and the planner call."""
_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([\w-]+))?\)")
_HEADING = re.compile(r"^#+ (.*?)(?: \{ #([\w-]+) \})?$", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@cache
def generated() -> dict[str, str]:
    made: dict[str, str] = GENERATOR["pages"]()
    return made


@cache
def pages() -> dict[str, str]:
    """Every page by its path below docs/."""
    written = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")}
    assert not written.keys() & generated().keys()
    return written | generated()


def in_navigation(entries: Any) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for item in entry.values():
                yield from [item] if isinstance(item, str) else in_navigation(item)


def test_every_page_is_in_the_navigation_once() -> None:
    named = Counter(in_navigation(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))
    assert named == Counter(pages().keys())


@pytest.mark.parametrize("page", sorted(pages()))
def test_links_lead_to_pages_and_headings(page: str) -> None:
    for name, section in _LINK.findall(_CODE.sub("", pages()[page])):
        path = _normal(PurePosixPath(page).parent / name) if name else page
        if path.startswith("../"):
            assert (DOCS / path).exists(), name
            continue
        assert path in pages() or (DOCS / path).is_file(), name
        assert not section or section in _anchors(path), (name, section)


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


@cache
def _anchors(page: str) -> set[str]:
    """Anchors of a page's headings, as GitHub and the site have them."""
    found = _HEADING.findall(_CODE.sub("", pages()[page]))
    return {anchor or re.sub(r"[^\w -]", "", text).lower().replace(" ", "-") for text, anchor in found}


def test_every_setting_statement_and_error_has_a_place() -> None:
    settings = generated()["reference/settings.md"]
    assert [one.key for one in SETTINGS if f"\n| `{one.key}` |" not in settings] == []
    statements = generated()["reference/statements.md"]
    assert [one.words for one in FORMS if f"\n### {one.words}\n" not in statements] == []
    of_errors = generated()["reference/errors.md"]
    assert [name for name in (*errors.__all__, *SQLSTATES) if f"\n| {name} |" not in of_errors.replace("`", "")] == []


def test_every_function_has_a_place() -> None:
    shown = [row.name for page, _, _ in GENERATOR["FAMILIES"] for row in GENERATOR["shown_functions"](page)]
    missing = {row.name for row in registry.built_in()} - set(shown)
    assert [name for name in missing if not _INTERNAL.fullmatch(name) and name != "percentile_disc_desc"] == []
    assert not any(_INTERNAL.fullmatch(name) and name in missing for name in registry.listed())
    assert len(shown) == sum(GENERATOR["_is_shown"](row) for row in registry.built_in())


@pytest.mark.parametrize("page", sorted(generated()))
def test_generated_pages_are_whole(page: str) -> None:
    text = generated()[page]
    assert text.startswith("# ")
    assert text.count("\n```") % 2 == 0
    assert "None" not in re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def test_text_of_a_cell() -> None:
    cell = GENERATOR["_cell"]
    assert cell("a | b\n<c> `d*` *e") == "a &#124; b &#60;c> `d*` &#42;e"
    assert cell("Of *Owner*.") == "Of *Owner*."

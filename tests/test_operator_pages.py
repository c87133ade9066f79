"""Facts in docs/operations.md, masters.md, shell.md and server.md agree with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sharkpy.base import settings
from sharkpy.catalog.catalog_format import FORMAT
from sharkpy.cli.commands import COMMANDS
from sharkpy.cli.main import FORMATS
from sharkpy.execution.workers.worker_environment import LIBRARIES

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("masters", "metastore", "operations", "server", "shell")


def text(page: str) -> str:
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def test_format_of_the_catalog() -> None:
    assert f"has this version's format ({FORMAT})" in text("operations")


def test_libraries_of_workers() -> None:
    listed = text("masters").partition("same versions of ")[2].partition(".")[0]
    assert re.findall(r"`(\w+)`", listed) == list(LIBRARIES)


def test_commands_and_formats_of_the_shell() -> None:
    known = {name for command in COMMANDS for name in command.names}
    table = text("shell").partition("| command | effect |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`([.\\][\w+!]+)", table))
    assert len(named) > 30
    assert named <= known
    options = text("shell").partition("`--format FORMAT` | ")[2].partition(" into files")[0]
    assert re.findall(r"\w+", options.replace(" and ", " ")) == list(FORMATS)


def test_history_settings() -> None:
    rows = re.findall(r"^\| `(shark\.history\.[\w.]+)`", text("server"), re.MULTILINE)
    assert len(rows) == 5
    assert f"| {settings.HISTORY_STATEMENTS.default} | statements in memory" in text("server")
    saved = f"{settings.HISTORY_SAVED_STATEMENTS.default}, {settings.HISTORY_SAVED_DAYS.default:g}"
    assert f"| {saved} | saved records" in text("server")


@pytest.mark.parametrize("page", PAGES)
def test_settings_and_links(page: str) -> None:
    named = set(re.findall(r"`(shark\.[a-z.]+[a-z])(?:=[^`]*)?`", text(page)))
    assert named <= {setting.key for setting in settings.SETTINGS}
    for name in re.findall(r"\]\(([\w/.-]+\.md)\)", text(page)):
        assert (DOCS / name).exists(), name

"""Examples of docs/continuous-queries.md run, and give what stands below them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sharkpy
from tests.streaming.folder_input import rows
from tests.waiting import until

DOCUMENT = Path(__file__).parents[2] / "docs" / "continuous-queries.md"
_BLOCK = re.compile(r"```(sql|json|text) ?(\w*)\n(.*?)```", re.DOTALL)


def answer(context: sharkpy.SharkContext, query: str) -> list[str]:
    found = rows(context, query)
    return ["  ".join("NULL" if value is None else str(value) for value in row) for row in found]


def test_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = _BLOCK.findall(DOCUMENT.read_text())
    query, checked = "", 0
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        for number, (kind, folder, text) in enumerate(blocks):
            if kind == "json":
                Path(folder).mkdir(exist_ok=True)
                Path(folder, f".{number}").write_text(text)
                Path(folder, f".{number}").rename(Path(folder, f"{number}.json"))
            elif kind == "sql":
                *commands, query = (one for one in map(str.strip, text.split(";")) if one)
                is_asked = query.startswith("SELECT")
                for one in commands if is_asked else [*commands, query]:
                    context.sql(one)
            else:
                expected = text.splitlines()
                until(lambda query=query, expected=expected: answer(context, query) == expected)
                checked += 1
    assert checked >= 8

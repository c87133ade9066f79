"""Examples of docs/versions.md run, and return the answers below them."""

from __future__ import annotations

import re
from pathlib import Path

import sharkpy
from tests.rows import rows

PAGE = Path(__file__).parents[2] / "docs" / "versions.md"
_BLOCK = re.compile(r"```(sql|text)\n(.*?)```", re.DOTALL)


def test_examples(tmp_path: Path) -> None:
    checked, answer = 0, list[str]()
    with sharkpy.connect("local[2]", tmp_path) as context:
        for kind, text in _BLOCK.findall(PAGE.read_text()):
            if kind == "sql":
                *before, last = (one for one in map(str.strip, text.split(";\n")) if one)
                for one in before:
                    context.sql(one)
                found = rows(context, last)
                answer = ["  ".join("NULL" if value is None else str(value) for value in row) for row in found]
            else:
                assert answer == text.splitlines()
                checked += 1
    assert checked == 8

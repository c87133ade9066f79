"""The examples of docs/functions.md run and print what their comments say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "functions.md"
_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
_PRINTED = re.compile(r"^print\(.*\)  # (.*)$", re.MULTILINE)


def test_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = _BLOCK.findall(DOCUMENT.read_text())
    assert len(blocks) == 7
    names: dict[str, object] = {"__name__": "functions_of_the_document"}
    for code in blocks:
        expected = _PRINTED.findall(code)
        assert expected
        capsys.readouterr()
        exec(compile(code, str(DOCUMENT), "exec"), names)
        assert capsys.readouterr().out.splitlines() == expected

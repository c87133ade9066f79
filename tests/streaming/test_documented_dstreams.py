"""Examples of docs/dstreams.md run, and print what their comments say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "dstreams.md"
_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
_PRINTED = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)


def test_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    # On a busy machine the progress of a query would be printed, too.
    monkeypatch.setattr("sharkpy.cli.progress_line.SHOW_AFTER_SECONDS", 3600.0)
    names: dict[str, object] = {"__name__": "__main__"}
    checked = 0
    for code in _BLOCK.findall(DOCUMENT.read_text()):
        capsys.readouterr()
        exec(compile(code, str(DOCUMENT), "exec"), names)
        assert capsys.readouterr().out.splitlines() == _PRINTED.findall(code)
        checked += len(_PRINTED.findall(code))
    assert checked >= 12

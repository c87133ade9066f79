"""Examples of docs/python.md run and print what their comments say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from sqlalchemy.dialects import registry
from traitlets.config import Config

DOCUMENT = Path(__file__).parents[1] / "docs" / "python.md"
_BLOCK = re.compile(r"```(python|ipython)\n(.*?)```", re.DOTALL)
_PRINTED = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)


def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    # On a busy machine the progress of a query would be printed, too.
    monkeypatch.setattr("sharkpy.cli.progress_line.SHOW_AFTER_SECONDS", 3600.0)
    registry.register("sharkpy", "sharkpy.sqlalchemy", "SharkDialect")
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    blocks = _BLOCK.findall(DOCUMENT.read_text())
    assert [language for language, _ in blocks] == ["python", "python", "python", "ipython"]
    try:
        for _, code in blocks:
            expected = _PRINTED.findall(code)
            assert expected
            capsys.readouterr()
            shell.run_cell(code).raise_error()
            assert capsys.readouterr().out.splitlines() == expected
    finally:
        shell.run_line_magic("unload_ext", "sharkpy")
        InteractiveShell.clear_instance()

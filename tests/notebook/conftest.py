"""A real IPython shell in this process, with the extension loaded and a small warehouse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import sharkpy


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    config = Config()
    config.HistoryManager.enabled = False
    made = InteractiveShell.instance(config=config)
    made.display_pub = CapturingDisplayPublisher()
    made.run_line_magic("load_ext", "sharkpy")
    yield made
    made.run_line_magic("unload_ext", "sharkpy")
    InteractiveShell.clear_instance()


@pytest.fixture
def context(shell: InteractiveShell, tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path / "w") as opened:
        opened.sql("CREATE TABLE t AS SELECT explode(sequence(1, 1000)) AS k")
        shell.user_ns["ctx"] = opened
        yield opened

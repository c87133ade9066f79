"""The first answer of a shell does without work that it does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_SHELL = """
import gc, sys
from sharkpy.cli import main as shell
gc.callbacks.append(lambda phase, info: sys.stderr.write("full ") if info["generation"] == 2 else None)
main = shell.main
def counted():
    code = main()
    sys.stderr.write(" ".join(name for name in ("asyncio", "http.client", "pandas") if name in sys.modules))
    return code
shell.main = counted
shell.run()
"""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """Answer of a new process over a cached table, with collections of all objects and heavy modules on standard
    error.
    """
    warehouse: Path = tmp_path_factory.mktemp("warehouse")
    command = [sys.executable, "-c", _SHELL, "--warehouse", str(warehouse), "--format", "csv", "-e"]
    made = "CREATE TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT 1 AS k"
    subprocess.run([*command, made], capture_output=True, check=True, timeout=100)
    answer = [*command, "SELECT k FROM t"]
    return subprocess.run(answer, capture_output=True, text=True, check=True, timeout=100)


def test_garbage_is_not_looked_for_among_the_modules(shell: subprocess.CompletedProcess[str]) -> None:
    assert shell.stdout.split() == ["k", "1"]
    assert "full" not in shell.stderr


def test_nothing_heavy_is_imported(shell: subprocess.CompletedProcess[str]) -> None:
    assert shell.stderr.replace("full", "").split() == []

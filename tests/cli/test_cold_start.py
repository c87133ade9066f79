"""The first answer of a shell does without work that it does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_SHELL = """
import gc, sys
heavy = ("asyncio", "http.client", "numba", "pandas", "pyspark", "scipy", "prompt_toolkit", "pyarrow.dataset")
from sharkpy.cli import main as shell
gc.callbacks.append(lambda phase, info: sys.stderr.write("full ") if info["generation"] == 2 else None)
main = shell.main
def counted():
    code = main()
    sys.stderr.write(" ".join(name for name in heavy if name in sys.modules))
    return code
shell.main = counted
shell.run()
"""
_TABLE = """
CREATE TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') AS
SELECT n AS k, concat('name ', n % 3) AS name, CAST(n AS DECIMAL(10,2)) AS price, date_add('2020-01-01', n) AS day
FROM (SELECT explode(sequence(1, 9000)) AS n)
"""
_QUERY = """
SELECT name, sum(price) AS price, max(k) AS k, max(day) AS day FROM t
WHERE k <= 1000 AND name IN ('name 0', 'name 1') GROUP BY name ORDER BY name
"""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """Answer of a new process over a table with blocks on the disk. Standard error has collections of all objects, and
    heavy modules.
    """
    warehouse: Path = tmp_path_factory.mktemp("warehouse")
    command = [sys.executable, "-c", _SHELL, "--warehouse", str(warehouse), "--format", "csv", "-e"]
    subprocess.run([*command, _TABLE], capture_output=True, check=True, timeout=100)
    answer = [*command, _QUERY]
    # The blocks of few new rows come to the disk when the table is first read.
    subprocess.run(answer, capture_output=True, check=True, timeout=100)
    return subprocess.run(answer, capture_output=True, text=True, check=True, timeout=100)


def test_garbage_is_not_looked_for_among_the_modules(shell: subprocess.CompletedProcess[str]) -> None:
    assert shell.stdout.split()[1:] == ["name", "0,166833.00,999,2022-09-26", "name", "1,167167.00,1000,2022-09-27"]
    assert "full" not in shell.stderr


def test_nothing_heavy_is_imported(shell: subprocess.CompletedProcess[str]) -> None:
    assert shell.stderr.replace("full", "").split() == []

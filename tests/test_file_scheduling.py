"""Workers of pytest-xdist that die in the middle of a run: the run ends, and every other test has run once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_CONFTEST = """
from tests.file_scheduling import FileScheduling, sort_by_length

def pytest_collection_modifyitems(items):
    sort_by_length(items)

def pytest_xdist_make_scheduler(config, log):
    return FileScheduling(config, log)
"""
_DYING = "import os\ndef test_before(): pass\ndef test_dies(): os._exit(1)\ndef test_after(): pass\n"


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("others", [0, 1, 5])
def test_a_dead_worker_costs_one_test(tmp_path: Path, workers: int, others: int) -> None:
    (tmp_path / "conftest.py").write_text(_CONFTEST)
    (tmp_path / "test_dying.py").write_text(_DYING)
    for number in range(others):
        (tmp_path / f"test_other_{number}.py").write_text("def test_it(): pass\n")
    options = f"-q -p no:cacheprovider --import-mode=importlib --dist loadfile -n {workers} --rootdir".split()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path), str(tmp_path)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert f"1 failed, {2 + others} passed" in done.stdout, done.stdout + done.stderr
    assert "crashed while running 'test_dying.py::test_dies'" in done.stdout

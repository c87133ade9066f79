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
_CLOSED = """
from xdist.workermanage import WorkerController

sent, send = [], WorkerController.send_runtest_some

def send_once(self, indices):
    if self.gateway.id in sent[:1]:
        raise OSError("cannot send (already closed?)")
    sent.append(self.gateway.id)
    send(self, indices)

WorkerController.send_runtest_some = send_once
"""
_DYING = "import os\ndef test_before(): pass\ndef test_dies(): os._exit(1)\ndef test_after(): pass\n"


def _run(folder: Path, *, workers: int, others: int, conftest: str = _CONFTEST) -> str:
    (folder / "conftest.py").write_text(conftest)
    (folder / "test_dying.py").write_text(_DYING)
    for number in range(others):
        (folder / f"test_other_{number}.py").write_text("def test_it(): pass\n")
    options = f"-q -p no:cacheprovider --import-mode=importlib --dist loadfile -n {workers} --rootdir".split()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(folder), str(folder)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.variants(3)
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("others", [0, 1, 5])
def test_a_dead_worker_costs_one_test(tmp_path: Path, workers: int, others: int) -> None:
    said = _run(tmp_path, workers=workers, others=others)
    assert f"1 failed, {2 + others} passed" in said, said
    assert "crashed while running 'test_dying.py::test_dies'" in said


def test_a_file_for_a_worker_whose_death_is_not_told_yet_runs_in_the_next(tmp_path: Path) -> None:
    said = _run(tmp_path, workers=1, others=3, conftest=_CONFTEST + _CLOSED)
    assert "1 failed, 5 passed" in said, said

"""A worker ends itself if its job's stop file appears while a task runs, and only then."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """
import sys, time
from pathlib import Path
from sharkpy.execution.workers import task_failure
task_failure.job_property = lambda name: "group"
folder, when = sys.argv[1:]
path = task_failure.stop_file(Path(folder), "group")
for number in range(2):
    with task_failure.ending_with_job(folder):
        time.sleep(0.15)
        if number and when == "running":
            path.touch()
            time.sleep(10)
if when == "ended":
    path.touch()
    time.sleep(0.5)
"""


@pytest.mark.parametrize(("when", "code"), [("running", -signal.SIGKILL), ("ended", 0), ("never", 0)])
def test_a_stop_file_ends_a_running_task(tmp_path: Path, when: str, code: int) -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM, str(tmp_path), when], check=False, timeout=60)
    assert done.returncode == code

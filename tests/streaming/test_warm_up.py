"""A process that makes a stream loads what its first epoch needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sharkpy, sys, threading

with sharkpy.connect("local[2]", sys.argv[1]) as context:
    before = "llvmlite" in sys.modules
    context.sql("CREATE STREAM events (n BIGINT) FROM PROGRAM")
    for thread in threading.enumerate():
        if thread.name == "warm up":
            thread.join()
    print(before, "llvmlite" in sys.modules)
"""


def test_compiled_code_is_loaded(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "w")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.stdout.split(), done.stderr) == (["False", "True"], "")

"""Statements by a program in a process of its own, whose JVM no test before it has begun."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType


def answers_of(program: ModuleType, folder: Path, statements: Sequence[str]) -> list[list[str]]:
    """Rows of each statement, as texts of JSON, sorted. The program reads `statements.json` of the folder it is given,
    and writes `answers.json`.
    """
    (folder / "statements.json").write_text(json.dumps(statements))
    done = subprocess.run(
        [sys.executable, str(program.__file__), str(folder)],
        cwd=folder,
        env={**os.environ, "TZ": "UTC"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    answers: list[list[str]] = json.loads((folder / "answers.json").read_text())
    return answers

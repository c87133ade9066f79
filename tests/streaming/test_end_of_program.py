"""Programs that end without having stopped their session, while rows come all the time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sharkpy
from tests.streaming.folder_input import state_of
from tests.waiting import PATIENCE, allowed

PROGRAM = """
import sys, sharkpy

context = sharkpy.connect("local[2]", sys.argv[1])
context.sql("CREATE STREAM ticks FROM RATE ('rowsPerSecond' = '1000')").close()
context.sql("CREATE CONTINUOUS TABLE t AS SELECT value FROM ticks").close()
context.stream("t").await_epoch(1, 60)
if sys.argv[2] == "failed":
    raise KeyError("of the program")
"""


@pytest.mark.parametrize(("how", "code"), [("ended", 0), ("failed", 1)])
def test_it_ends(tmp_path: Path, how: str, code: int) -> None:
    program = [sys.executable, "-c", PROGRAM, str(tmp_path / "w"), how]
    ended = subprocess.run(program, capture_output=True, text=True, check=False, timeout=allowed(PATIENCE))
    assert ended.returncode == code, ended.stderr
    assert ("of the program" in ended.stderr) is (how == "failed")
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        assert state_of(context, "t") == ("RUNNING", None)
        values = [value for (value,) in context.sql("SELECT value FROM t ORDER BY value").fetchall()]
        assert values == list(range(len(values)))
        assert values

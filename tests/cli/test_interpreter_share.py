"""Statements of a server that work in Python for long let other statements work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_GROW = """
import gc, sys
from sharkpy.cli.server import share_interpreter
share_interpreter()
of_all = []
gc.callbacks.append(lambda phase, info: of_all.append(info) if phase == "start" and info["generation"] == 2 else None)
grown = [[number] for number in range(2_000_000)]
print(len(of_all), sys.getswitchinterval() <= 0.001)
del grown
for number in range(6_000_000):
    cycle = []
    cycle.append(cycle)
print(len(gc.get_objects()) < 200_000)
"""

_SESSIONS = """
import gc, sys, sharkpy
gc.set_threshold(800, 5, 100)
with sharkpy.connect("local[2]", sys.argv[1]) as context:
    alone = gc.get_threshold()
    context.new_session()
    print(*alone, *gc.get_threshold())
    gc.set_threshold(900, 5, 5)
    context.new_session()
    print(*gc.get_threshold())
"""


def test_a_growing_tree_is_not_looked_through_and_garbage_is_collected() -> None:
    done = subprocess.run([sys.executable, "-c", _GROW], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout.split() == ["0", "True", "True"]


def test_sessions_of_a_program_share_the_interpreter_until_the_program_says_otherwise(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _SESSIONS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout.splitlines() == ["800 5 100 10000 10 100", "900 5 5"]

"""Machine code in files: processes that load it without numba, loops that need numba, and files that do not count."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sharkpy.columnar import compiled, kernels, machine, object_code
from sharkpy.columnar.object_code import kind_of, kinds_of

LOOPS = """
import numpy as np
from sharkpy.columnar.compiled import compiled

@compiled
def figures(numbers, words, factor, shift, out):
    total, most = 0.0, np.uint64(0)
    for i in range(len(numbers)):
        total += numbers[i] * shift
        out[i] = numbers[i] > factor
    for i in range(len(words)):
        most = max(most, np.uint64(words[i]))
    return total, most, total > 3, len(out) + factor

@compiled
def doubled(numbers):
    return numbers[1:] * 2

@compiled
def nothing(numbers):
    numbers[:] = 7
"""
PROGRAM = """
import sys
import numpy as np
import loops

numbers = np.array([3, -4, 5], np.int16)
read_only = np.arange(20, dtype=np.uint8)
read_only.flags.writeable = False
words = np.ndarray((13,), np.uint64, read_only, strides=(1,))
out = np.zeros(3, np.bool_)
print(loops.figures(numbers, words, 3, 0.5, out), out.tolist())
print(loops.nothing(numbers), numbers.tolist(), "numba" in sys.modules)
print(loops.doubled(numbers).tolist(), loops.figures(numbers, words, np.int32(3), shift=0.5, out=out)[3])
print("numba" in sys.modules)
"""
ANSWER = [
    f"(2.0, {int.from_bytes(bytes(range(12, 20)), 'little')}, False, 6) [False, False, True]",
    "None [7, 7, 7] ",
    "[14, 14] 6",
    "True",
]


@pytest.fixture
def run(tmp_path: Path) -> Callable[[], bool]:
    """Run the program in a process of its own; returns whether it has imported numba for code that can be in files."""
    (tmp_path / "loops.py").write_text(LOOPS)

    def run_once() -> bool:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, cwd=os.getcwd())
        assert done.stderr == ""
        lines = done.stdout.splitlines()
        imported = lines[1].endswith("True")
        assert [lines[0], lines[1].removesuffix(str(imported)), *lines[2:]] == ANSWER
        return imported

    return run_once


def test_later_processes_load_loops_without_numba(run: Callable[[], bool], tmp_path: Path) -> None:
    assert run()
    assert len(list((tmp_path / "cache").glob("*.loop"))) == 3
    assert not run()


@pytest.mark.parametrize("cut", [1, 300, -1])
def test_damaged_files_are_made_again(run: Callable[[], bool], tmp_path: Path, cut: int) -> None:
    run()
    for path in (tmp_path / "cache").glob("*.loop"):
        content = path.read_bytes()
        path.write_bytes(content[:cut] + bytes([content[cut] ^ 1]) + (content[cut:][1:]))
    assert run()
    assert not run()


def test_code_of_another_source_does_not_count(run: Callable[[], bool], tmp_path: Path) -> None:
    run()
    (tmp_path / "loops.py").write_text(LOOPS + "# changed\n")
    assert run()
    assert not run()


def test_loops_run_without_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_code, "_folder", lambda _source: None)
    loop = compiled.compiled(kernels.presence.__wrapped__)  # type: ignore[attr-defined]
    seen = np.zeros(4, np.uint8)
    loop(np.array([1, 3], np.uint8), seen)
    assert seen.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("argument", "kind"),
    [
        (np.zeros(3, np.int32), "<i4"),
        (np.zeros(6, np.int32)[::2], "~<i4"),
        (np.zeros((2, 2)), "<f8[:,:]"),
        (np.zeros((2, 3)).T, None),
        (np.zeros((2, 2, 2)), None),
        (np.zeros(2, ">i4"), None),
        (np.zeros(2, "M8[us]"), None),
        (7, "int"),
        (np.int16(7), "int"),
        (1 << 63, None),
        (np.uint64(7), None),
        (True, None),
        (0.5, "float"),
        ("text", None),
    ],
)
def test_kinds_of_arguments(argument: Any, kind: str | None) -> None:
    assert kind_of(argument) == kind
    assert kinds_of([1, argument]) == (None if kind is None else ("int", kind))


def test_no_loop_of_a_load_needs_numba() -> None:
    """All loops of a load are in files after a first load, and the machine is, too."""
    folder = Path(kernels.__file__).parent / "__pycache__"
    machine.prepare()
    found = [path.read_bytes().partition(b"\n")[0] for path in folder.glob("*.loop")]
    assert not [head for head in found if json.loads(head)["symbol"] == ""]

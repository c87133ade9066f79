"""The vector machine for its callers: loops whose code is loaded from files, or compiled of `vector_machine.py`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sharkpy.columnar import machine_steps
from sharkpy.columnar.compiled import CompiledLoop
from sharkpy.columnar.object_code import LoopSource

_FILES = tuple(str(Path(__file__).with_name(name)) for name in ("vector_machine.py", "machine_steps.py"))
"""Files of the machine. It has the numbers of its steps."""


def _loop(name: str) -> CompiledLoop:
    def function() -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(importlib.import_module("sharkpy.columnar.vector_machine"), name).py_func
        return found

    return CompiledLoop(LoopSource(name, _FILES, function))


run, find, rehash, set_bits = map(_loop, ("run", "find", "rehash", "set_bits"))


def is_compiled() -> bool:
    """Whether files have the machine, of this source and for this processor."""
    return all(loop.is_stored(*arguments) for loop, arguments in _calls())


def prepare() -> None:
    """Load the machine from its files, or compile it before."""
    for loop, arguments in _calls():
        loop(*arguments)


def _calls() -> list[tuple[CompiledLoop, tuple[Any, ...]]]:
    """Return calls that do nothing, with arguments of the machine's types."""
    numbers, places, marks = np.zeros((1, 2), np.int64), np.zeros(2, np.int32), np.zeros(2, np.uint8)
    none = np.zeros(0, np.int64)
    steps = np.zeros((0, machine_steps.WIDTH), np.int64)
    columns, sets = np.zeros((0, 6), np.int64), np.zeros((0, 3), np.int64)
    return [
        (run, (steps, columns, sets, numbers, places, marks, places, places, none, none, numbers, 0, 0)),
        (find, (none, 0, marks, places, none, 0, places)),
        (rehash, (places, none, 0)),
        (set_bits, (none, 0, marks[:1])),
    ]

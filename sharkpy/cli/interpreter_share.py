"""Share of the interpreter that each statement of a server gets, next to others that work in Python for seconds."""

from __future__ import annotations

import gc
import sys

_SWITCH_SECONDS = 0.001
"""Longest that one statement's Python works while another waits for the interpreter. By default it is 0.005, which a
short statement, with some hundred waits, would feel next to a long one.
"""
_COLLECTED = (10_000, 10, 50)
"""Objects, and collections of younger ones, between two collections of garbage: of all objects after five million new
ones. By default the tree of a long statement is looked through many times while it grows, and nobody else works then.
"""


def share_interpreter() -> None:
    """Keep statements of one thread from holding up the others for long. Call it when all modules are there."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTED)

"""Share of the interpreter that each statement of a server gets while other statements run Python for seconds."""

from __future__ import annotations

import gc
import sys

_SWITCH_SECONDS = 0.001
"""Longest time that one statement's Python works while another waits for the interpreter. The default is 0.005: a short
statement, with some hundred waits, would be slow next to a long one.
"""
_COLLECTED = (10_000, 10, 50)
"""Objects, and collections of younger ones, between two collections of garbage: of all objects after five million new
ones. By default, the tree of a long statement is scanned many times while it grows, and all other threads wait.
"""


def share_interpreter() -> None:
    """Keep statements of one thread from delaying other threads for long. Call it after all modules are imported."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTED)

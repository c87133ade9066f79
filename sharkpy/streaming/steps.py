"""Steps of the commit of an epoch, or of a rollback, for tests that end the process between two of them."""

from __future__ import annotations

from collections.abc import Callable

BEGUN, STAGED, PLACED, COMMITTED, ENDED = STEPS = ("begun", "staged", "placed", "committed", "ended")
"""The epoch is in the log; its rows are staged; they are in place, and the catalog's transaction is about to be
committed; it was; the log says so.
"""
FLUSHED, SENT = OUTSIDE_STEPS = ("flushed", "sent")
"""Of a sink whose rows are in another system's transaction: that system has them all; they count there, and the catalog
does not know yet. Both come before `STAGED`.
"""

hook: Callable[[str], None] | None = None
"""Called with the name of each step that was done."""


def done(step: str) -> None:
    if hook is not None:
        hook(step)

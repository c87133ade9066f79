"""Points in the commit of an epoch, or of a rollback, at which tests kill the process."""

from __future__ import annotations

from collections.abc import Callable

BEGUN, STAGED, PLACED, COMMITTED, ENDED = POINTS = ("begun", "staged", "placed", "committed", "ended")
"""Points in their order.

The epoch is in the log. Its rows are staged. Its rows are in place, just before the commit of the catalog's
transaction. The transaction is committed. The log has the end of the epoch.
"""
FLUSHED, SENT = SINK_POINTS = ("flushed", "sent")
"""Further points, before `STAGED`, of a sink that writes in a transaction of another system.

The other system has received all rows. It has committed them, and the catalog does not know this yet.
"""

observer: Callable[[str], None] | None = None
"""Called with the name of each point that the process reaches. Tests set it."""


def reached(point: str) -> None:
    if observer is not None:
        observer(point)

"""Base of the writes that change a query in the transaction that commits its rows."""

from __future__ import annotations

from sharkpy.execution.commands.writes.staged_write import QuietWrite
from sharkpy.streaming import steps


class EpochWrite(QuietWrite):
    """Base of a write that follows the writes of a table's rows. It reports the steps that are done."""

    __slots__ = ()

    def prepare(self) -> None:
        steps.done(steps.STAGED)

    def place(self) -> None:
        self.note()
        steps.done(steps.PLACED)

    def note(self) -> None:
        """Record in the catalog how the query has changed with the rows."""
        raise NotImplementedError(type(self).__name__)

    def show(self) -> None:
        steps.done(steps.COMMITTED)

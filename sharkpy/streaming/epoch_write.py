"""What writes have in common that change a query in the transaction in which its rows count."""

from __future__ import annotations

from sharkpy.execution.commands.writes.publish import QuietWrite
from sharkpy.streaming import steps


class EpochWrite(QuietWrite):
    """Base of a write behind those of a table's rows: it tells which steps were done."""

    __slots__ = ()

    def prepare(self) -> None:
        steps.done(steps.STAGED)

    def place(self) -> None:
        self.note()
        steps.done(steps.PLACED)

    def note(self) -> None:
        """Note in the catalog what the rows mean for the query."""
        raise NotImplementedError(type(self).__name__)

    def show(self) -> None:
        steps.done(steps.COMMITTED)

"""Interface of the reader of a stream's source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sharkpy.execution.tables.snapshot import QuerySnapshot


class SourceReader(Protocol):
    """Reader of a source, whose items have numbers from 0 in one order that never changes.

    1. All continuous queries of a stream share one reader; its methods are called by several threads.
    2. A number is that of the same item after every restart.
    """

    def look(self, age: float = 0.0) -> int:
        """Look for new items; the number after the last one that may be read. A look of others counts, if it is not
        older than `age` seconds.
        """

    def first(self) -> int:
        """Number of the first item that is still there; that after the last where none is."""

    def release(self, end: int) -> None:
        """Items before the number `end` are no longer needed: all queries have read them."""

    def unsettled_seconds(self) -> float:
        """Seconds after which items that were seen, and may still change, are expected to be there; 0 for none."""

    def cut(self, start: int, end: int) -> int:
        """End of an epoch that begins at `start`, where items up to `end` are there: before it, if that is too much."""

    def give(self, snapshot: QuerySnapshot, start: int, end: int) -> None:
        """Let the rows of the stream in `snapshot` be those from `start` to before `end`; SourceError where they are
        gone.
        """

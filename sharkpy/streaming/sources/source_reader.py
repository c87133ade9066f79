"""Interface of the reader of a stream's source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sharkpy.catalog.position import Position

if TYPE_CHECKING:
    from sharkpy.execution.tables.snapshot import QuerySnapshot


class SourceReader(Protocol):
    """Reader of a source, whose items have numbers from 0 in one order that never changes, in each of its partitions.

    1. All continuous queries of a stream share one reader; its methods are called by several threads.
    2. A number is that of the same item after every restart.
    """

    @property
    def keeps_items(self) -> bool:
        """True if items are kept for the queries alone, and go when all have read them."""

    @property
    def end(self) -> Position:
        """Position behind the last item that was seen."""

    def look(self, age: float = 0.0) -> Position:
        """Look for new items; the position behind the last one that may be read. A look of others counts, if it is not
        older than `age` seconds.
        """

    def first(self) -> Position:
        """Position of the first item that is still there; behind the last where none is."""

    def since(self, moment_ms: int) -> Position | None:
        """Position of the first items that are not older than a moment, in milliseconds since 1970, among those that
        were seen; behind the last where none is. None where the source does not tell when its items came.
        """

    def num_gone(self) -> int:
        """Number of the first items of the stream that are no longer there."""

    def release(self, end: Position) -> None:
        """Items before `end` are no longer needed: all queries have read them."""

    def unsettled_seconds(self) -> float:
        """Seconds after which items that were seen, and may still change, are expected to be there; 0 for none."""

    def cut(self, start: Position, end: Position) -> Position:
        """End of an epoch that begins at `start`, where items up to `end` are there: before it, if that is too much."""

    def give(self, snapshot: QuerySnapshot, start: Position, end: Position) -> None:
        """Let the rows of the stream in `snapshot` be those from `start` to before `end`; SourceError where they are
        gone.
        """

    def close(self) -> None:
        """Let go of what it holds; it is not used any more."""

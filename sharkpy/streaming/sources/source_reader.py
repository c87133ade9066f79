"""Interface of the readers of stream sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sharkpy.catalog.continuous_query import Position

if TYPE_CHECKING:
    from sharkpy.execution.tables.snapshot import QuerySnapshot


class SourceReader(Protocol):
    """Reader of a source. In each partition its items are numbered from 0, in an order that never changes.

    1. All continuous queries of a stream share one reader. Several threads call its methods.
    2. A number belongs to the same item after every restart.
    """

    @property
    def keeps_items(self) -> bool:
        """True if items are stored only for the queries, and deleted when all queries have read them."""

    @property
    def end(self) -> Position:
        """Position after the last item that was seen."""

    def look(self, age: float = 0.0) -> Position:
        """Look for new items. Return the position after the last item that may be read.

        An earlier look counts if it is not older than `age` seconds.
        """

    def first(self) -> Position:
        """Return the position of the first item that still exists, or the end if there is none."""

    def since(self, moment_ms: int) -> Position | None:
        """Return the position of the first seen items that are not older than a time, in milliseconds since 1970.

        This is the end if there are none, and None if the source does not know when its items arrived.
        """

    def num_gone(self) -> int:
        """Return the number of items at the beginning of the stream that no longer exist."""

    def release(self, end: Position) -> None:
        """Release the items before `end`, which all queries have read."""

    def unsettled_seconds(self) -> float:
        """Return the seconds after which items that may still change should be readable; 0 if there are none."""

    def cut(self, start: Position, end: Position) -> Position:
        """Return the end of an epoch that begins at `start`: `end`, or an earlier one if there are too many items."""

    def give(self, snapshot: QuerySnapshot, start: Position, end: Position) -> None:
        """Set the rows of the stream in `snapshot` to the items from `start` to before `end`.

        Raise SourceError if items are gone.
        """

    def close(self) -> None:
        """Release all resources. The reader is not used any more."""

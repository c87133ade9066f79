"""What is known of the columns of a scan before its blocks are read: all that a program for it may rely on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sharkpy.physical.ranges import ColumnRange


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """Bounds of a scan's rows and stored columns. Lowering sees these, and no block: a program holds for all blocks
    that keep within them.
    """

    ranges: tuple[tuple[str, ColumnRange], ...] = ()
    """Ranges of columns whose values count as integers, by name."""
    distinct: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """All values of string columns that have few, sorted, by name."""
    most_rows: int | None = None
    """None: not known."""

    def with_rows(self, num_rows: int) -> ColumnBounds:
        """The bounds of at most so many of the rows."""
        most = num_rows if self.most_rows is None else min(self.most_rows, num_rows)
        return self if most == self.most_rows else replace(self, most_rows=most)

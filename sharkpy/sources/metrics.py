"""Metrics of reading: counted while batches are made, merged by the caller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Rows = Sequence[int] | np.ndarray[Any, np.dtype[Any]]


@dataclass(slots=True)
class ReadMetrics:
    """Rows and bytes read; malformed lines, which have too few or too many fields or do not parse; fields that became
    NULL.

    `malformed_rows` are rows with any of these, each counted once. They are counted only if `marks` is a list, which
    then holds the numbers of such rows, in pieces, in any order. A reader marks rows before it adds them to `rows`.
    """

    rows: int = 0
    bytes: int = 0
    malformed_lines: int = 0
    malformed_fields: int = 0
    malformed_rows: int = 0
    changed_rows: int = 0
    """Rows that an UPDATE or MERGE has changed, among the rows that it writes."""
    torn_rows: int = 0
    """CSV rows with an unclosed quote, and rows of several lines with too few or too many fields."""
    marks: list[Rows] | None = None
    whole: list[Rows] = field(default_factory=list)
    """The `marks` of rows that are not records at all."""

    def merge(self, other: ReadMetrics) -> None:
        self.rows += other.rows
        self.bytes += other.bytes
        self.malformed_lines += other.malformed_lines
        self.malformed_fields += other.malformed_fields
        self.malformed_rows += other.malformed_rows
        self.changed_rows += other.changed_rows

    def mark(self, rows: Rows, *, is_whole: bool = False) -> None:
        """Mark rows as malformed. Numbers count from the first row that is not in `rows` yet."""
        if self.marks is not None and len(rows):
            import numpy as np

            self.marks.append(np.asarray(rows, np.int64) + self.rows)
            if is_whole:
                self.whole.append(self.marks[-1])

    def clear(self) -> None:
        """Reset all counts to zero."""
        self.rows = self.bytes = self.malformed_lines = self.malformed_fields = self.malformed_rows = 0
        self.marks = None if self.marks is None else []
        self.whole = []

    def marked(self) -> Rows:
        """Numbers of the marked rows, ascending and distinct."""
        if not self.marks:
            return ()
        import numpy as np

        found: Rows = np.unique(np.concatenate(self.marks))
        return found

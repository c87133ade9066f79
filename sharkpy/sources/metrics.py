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
    """Rows and bytes read; lines with too few or too many fields, or no record at all; fields that became NULL.

    `malformed_rows` are rows with any of that, each counted once; only where `marks` is a list, which then holds the
    numbers of such rows, by pieces, in any order. A reader marks rows before it adds them to `rows`.
    """

    rows: int = 0
    bytes: int = 0
    malformed_lines: int = 0
    malformed_fields: int = 0
    malformed_rows: int = 0
    changed_rows: int = 0
    """Rows that an UPDATE or MERGE has changed, among those it writes."""
    torn_rows: int = 0
    """Rows of CSV with a quote that is not closed; those of several lines also if they lack fields or have too many."""
    marks: list[Rows] | None = None
    whole: list[Rows] = field(default_factory=list)
    """Those of `marks` that are no records at all."""

    def merge(self, other: ReadMetrics) -> None:
        self.rows += other.rows
        self.bytes += other.bytes
        self.malformed_lines += other.malformed_lines
        self.malformed_fields += other.malformed_fields
        self.malformed_rows += other.malformed_rows
        self.changed_rows += other.changed_rows

    def mark(self, rows: Rows, *, is_whole: bool = False) -> None:
        """Mark rows as malformed, by their numbers from the first one that is not in `rows` yet."""
        if self.marks is not None and len(rows):
            import numpy as np

            self.marks.append(np.asarray(rows, np.int64) + self.rows)
            if is_whole:
                self.whole.append(self.marks[-1])

    def clear(self) -> None:
        """Begin again with nothing counted."""
        self.rows = self.bytes = self.malformed_lines = self.malformed_fields = self.malformed_rows = 0
        self.marks = None if self.marks is None else []
        self.whole = []

    def marked(self) -> Rows:
        """Numbers of the marked rows, ascending, each once."""
        if not self.marks:
            return ()
        import numpy as np

        found: Rows = np.unique(np.concatenate(self.marks))
        return found

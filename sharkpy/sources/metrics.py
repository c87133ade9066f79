"""Metrics of reading: counted while batches are made, merged by the caller."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class ReadMetrics:
    """Rows and bytes read; lines with too few or too many fields, or no record at all; fields that became NULL."""

    rows: int = 0
    bytes: int = 0
    malformed_lines: int = 0
    malformed_fields: int = 0

    def merge(self, other: ReadMetrics) -> None:
        self.rows += other.rows
        self.bytes += other.bytes
        self.malformed_lines += other.malformed_lines
        self.malformed_fields += other.malformed_fields

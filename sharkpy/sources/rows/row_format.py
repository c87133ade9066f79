"""Protocol of row formats, for text files and sequence files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from sharkpy.sources.arrow import Array
from sharkpy.sources.line_chunks import LineLayout
from sharkpy.sources.source import ReadMetrics
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa

Properties = tuple[tuple[str, str], ...]


class RowReader(Protocol):
    """Reader of rows as batches of the wanted columns; malformed values become NULL and are counted."""

    def read_lines(self, data: bytes) -> Iterator[pa.RecordBatch]:
        """Read `data`: whole lines."""
        ...

    def read_rows(self, rows: Array) -> Iterator[pa.RecordBatch]:
        """Read `rows`: one binary value each."""
        ...


class RowFormat(Protocol):
    """Encoding of rows in bytes.

    1. `check` raises ConfigurationError or UnsupportedError for unsupported properties and columns.
    2. `lines` is the layout of a text file with such rows.
    3. `encode` returns the bytes of each row, without a line end.
    """

    def check(self, schema: Schema, properties: Properties) -> None: ...

    def lines(self, properties: Properties) -> LineLayout: ...

    def reader(
        self, schema: Schema, names: Sequence[str], properties: Properties, metrics: ReadMetrics
    ) -> RowReader: ...

    def encode(self, batch: pa.RecordBatch, schema: Schema, properties: Properties) -> Array: ...

"""Protocol of row formats, for the containers of rows: text files and sequence files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from sharkpy.sources.arrow import Array
from sharkpy.sources.line_chunks import LineLayout
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa

Properties = tuple[tuple[str, str], ...]


class RowReader(Protocol):
    """Rows to batches of the wanted columns; what is malformed is NULL, and counted."""

    def read_lines(self, data: bytes) -> Iterator[pa.RecordBatch]:
        """`data`: whole lines."""
        ...

    def read_rows(self, rows: Array) -> Iterator[pa.RecordBatch]:
        """`rows`: one binary value each."""
        ...


class RowFormat(Protocol):
    """1. `check` raises ConfigurationError or UnsupportedError for properties and columns that it cannot obey.
    2. `lines` tells how a text file with such rows is cut.
    3. `encode` gives the bytes of each row, without what ends a line.
    """

    def check(self, schema: Schema, properties: Properties) -> None: ...

    def lines(self, properties: Properties) -> LineLayout: ...

    def reader(
        self, schema: Schema, names: Sequence[str], properties: Properties, metrics: ReadMetrics
    ) -> RowReader: ...

    def encode(self, batch: pa.RecordBatch, schema: Schema, properties: Properties) -> Array: ...

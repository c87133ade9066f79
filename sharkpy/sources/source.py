"""Protocol of file formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from sharkpy.sources.layout import DataFile
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.split import Split
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa

Properties = tuple[tuple[str, str], ...]
BATCH_ROWS = 128 * 1024


class Source(Protocol):
    """A format of data files.

    1. `splits` cuts files into parts of about `split_bytes`; together they hold each row once.
    2. `read` yields the columns `names` of a split in that order, with the Arrow types of `schema`; a column that the
       file lacks is NULL. Without names, batches carry only their number of rows.
    3. `write` makes one new file from batches with the columns of `schema`, and returns the number of rows.
    4. `check` raises ConfigurationError or UnsupportedError if a table cannot have such columns and properties.
    5. `splits_bytes`: a split counts bytes, not row groups or stripes. `splits_lines`: every line end separates rows.
    6. Failures are SourceError naming the file, or ResourceError 53100 for a full disk.
    """

    @property
    def name(self) -> str: ...

    @property
    def splits_bytes(self) -> bool: ...

    def splits_lines(self, properties: Properties) -> bool: ...

    def check(self, schema: Schema, properties: Properties) -> None: ...

    def splits(
        self, files: Sequence[DataFile], schema: Schema, properties: Properties, split_bytes: int
    ) -> list[Split]: ...

    def read(
        self, split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics | None = None
    ) -> Iterator[pa.RecordBatch]: ...

    def write(self, batches: Iterable[pa.RecordBatch], schema: Schema, properties: Properties, path: str) -> int: ...


@runtime_checkable
class PlacedSource(Source, Protocol):
    """A format whose rows have offsets in their file, which BLOCK__OFFSET__INSIDE__FILE shows."""

    def read_placed(
        self, split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics
    ) -> Iterator[tuple[pa.RecordBatch, Sequence[int]]]:
        """Read batches with the offset of each row."""
        ...

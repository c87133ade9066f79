"""Contract of file formats: a Source cuts files into splits, and reads the rows of a split."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.sources.layout import DataFile
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from sharkpy.sources.layout import DataFile

    Rows = Sequence[int] | np.ndarray[Any, np.dtype[Any]]

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


class StreamFormat:
    """Parts of a Source that a format without files does not support. Tables cannot use it."""

    name = ""
    splits_bytes = False

    def splits_lines(self, properties: Properties) -> bool:  # noqa: ARG002 - the protocol's signature
        return False

    def check(self, *_: object) -> None:
        raise UnsupportedError(f'the format "{self.name}" of a table')

    def splits(self, *_: object) -> list[Split]:
        raise UnsupportedError(f'files in the format "{self.name}"')

    def write(self, *_: object) -> int:
        raise UnsupportedError(f'writing files in the format "{self.name}"')


@dataclass(frozen=True, slots=True)
class PlainFile:
    """Part of a file that DuckDB can read itself: the number of rows, and columns of the table's types with their
    bytes.
    """

    num_rows: int
    column_bytes: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Split:
    """Bytes [start, start + length) of a text or JSON file, or row groups / stripes [start, start + length).

    `modified_ns`, `file_bytes` and `tag` identify the file's content: a split whose file has changed is refused.
    `partition` is the name of the file's Hive partition, empty if there is none. `form` is the file's own format and
    columns if they are not the table's (see `sharkpy.catalog.json_rows`). `plain` is the same for all splits of a file.
    `access`: id of the access to the store of a remote file; empty for local files.
    """

    path: str
    format: str
    properties: tuple[tuple[str, str], ...]
    start: int
    length: int
    file_bytes: int
    modified_ns: int
    num_rows: int | None = None
    partition: str = ""
    form: str = ""
    plain: PlainFile | None = None
    tag: str = ""
    access: str = ""

    @classmethod
    def of(
        cls,
        file: DataFile,
        format_name: str,
        properties: tuple[tuple[str, str], ...],
        start: int,
        length: int,
        num_rows: int | None = None,
        plain: PlainFile | None = None,
    ) -> Split:
        part = (file.path, format_name, properties, start, length, file.size_bytes, file.modified_ns)
        return cls(*part, num_rows, file.partition, file.form, plain, file.tag, file.access)


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

"""Split: a part of a file that one task reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sharkpy.sources.layout import DataFile


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

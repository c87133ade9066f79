"""Where the parts of a Parquet file lie that a reader looks at."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from sharkpy.sources.layout import DataFile
from sharkpy.sources.local_copy import LocalCopy, facts_of
from sharkpy.sources.split import Split
from sharkpy.sources.storage.ranges import Range

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_TAIL_BYTES = 64 << 10
_END_BYTES = 8
"""Bytes behind the footer: its length, and the mark of the format."""
_MAGIC = b"PAR1"
_HEADER_BYTES = 100
"""Bytes of a dictionary's header, which some writers have not counted."""


def fetch_footer(file: DataFile | Split, copy: LocalCopy) -> None:
    """Let a file's footer be there: mostly by one request."""
    if copy.is_whole:
        return
    size = facts_of(file).size_bytes
    copy.fetch([(size - _TAIL_BYTES, size)])
    with open(copy.path, "rb") as tail:
        tail.seek(max(size - _END_BYTES, 0))
        end = tail.read()
    if end.endswith(_MAGIC):
        length = int.from_bytes(end[:4], "little")
        copy.fetch([(size - _END_BYTES - length, size)])


def chunk_ranges(metadata: pq.FileMetaData, group: int, names: Collection[str]) -> list[Range]:
    """Ranges of the columns of a row group, which may have parts."""
    row_group = metadata.row_group(group)
    chunks = (row_group.column(index) for index in range(row_group.num_columns))
    return [_range(chunk) for chunk in chunks if is_part(chunk.path_in_schema, names)]


def is_part(path: str, names: Collection[str]) -> bool:
    """True for the path of a column among `names`, or of a part of one. Names may have dots, too."""
    return path in names or any(path[:end] in names for end, sign in enumerate(path) if sign == ".")


def _range(chunk: pq.ColumnChunkMetaData) -> Range:
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
        start = min(start, chunk.dictionary_page_offset)
    return start, start + chunk.total_compressed_size + _HEADER_BYTES

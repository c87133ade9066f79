"""Where the footer of a Parquet file lies, and which of its leaves are parts of a column."""

from __future__ import annotations

from collections.abc import Collection

from sharkpy.sources.layout import DataFile
from sharkpy.sources.local_copy import LocalCopy, facts_of
from sharkpy.sources.split import Split
from sharkpy.sources.storage.ranges import Range

_TAIL_BYTES = 64 << 10
_END_BYTES = 8
"""Bytes behind the footer: its length, and the mark of the format."""
MAGIC = b"PAR1"


def fetch_footer(file: DataFile | Split, copy: LocalCopy) -> None:
    """Let a file's footer be there: mostly by one request."""
    if copy.is_whole:
        return
    size = facts_of(file).size_bytes
    copy.fetch([(size - _TAIL_BYTES, size)])
    with open(copy.path, "rb") as tail:
        tail.seek(max(size - _END_BYTES, 0))
        end = tail.read()
    if end.endswith(MAGIC):
        copy.fetch([(footer_range(size, end)[0], size)])


def footer_range(size: int, end: bytes) -> Range:
    """Range of the footer of a file of `size` bytes, by its last bytes."""
    return size - _END_BYTES - int.from_bytes(end[-_END_BYTES:-4], "little"), size - _END_BYTES


def is_part(path: str, names: Collection[str]) -> bool:
    """True for the path of a column among `names`, or of a part of one. Names may have dots, too."""
    return path in names or any(path[:end] in names for end, sign in enumerate(path) if sign == ".")

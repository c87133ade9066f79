"""Range of the footer of a Parquet file, and the leaves that belong to a column."""

from __future__ import annotations

from collections.abc import Collection

from sharkpy.sources.layout import DataFile
from sharkpy.sources.local_copy import LocalCopy, facts_of
from sharkpy.sources.split import Split
from sharkpy.sources.storage.ranges import Range

_TAIL_BYTES = 64 << 10
_END_BYTES = 8
"""Bytes after the footer: its length, and the format's magic."""
MAGIC = b"PAR1"


def fetch_footer(file: DataFile | Split, copy: LocalCopy) -> None:
    """Fetch a file's footer, usually by one request."""
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
    """Range of the footer of a file of `size` bytes, from its last bytes."""
    return size - _END_BYTES - int.from_bytes(end[-_END_BYTES:-4], "little"), size - _END_BYTES


def is_part(path: str, names: Collection[str]) -> bool:
    """True for the path of a column in `names`, or of a part of one. Names may contain dots, too."""
    return path in names or any(path[:end] in names for end, sign in enumerate(path) if sign == ".")

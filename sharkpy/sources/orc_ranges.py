"""Ranges of the parts of an ORC file that a reader needs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import BinaryIO

from sharkpy.sources.local_copy import LocalCopy
from sharkpy.sources.orc_stripe import LAST_OF_DATA
from sharkpy.sources.orc_tail import STRIPES, OrcTail, fields_of, messages, number_of, tail_start
from sharkpy.sources.storage.ranges import Range

_TAIL_BYTES = 64 << 10
_HEAD_BYTES = 16
"""Bytes at the start of a file with the format's magic, which is only there in old files."""


def fetch_tail(size: int, copy: LocalCopy) -> None:
    """Fetch the tail of a file of `size` bytes; ValueError or IndexError if it has none."""
    copy.fetch([(0, _HEAD_BYTES), (size - _TAIL_BYTES, size)])
    with open(copy.path, "rb") as file:
        start = tail_start(file)
    copy.fetch([(start, size)])


def footer_range(tail: OrcTail, stripe: int) -> Range:
    """Range of a stripe's own footer."""
    start, index, data, footer = _place(tail, stripe)
    return start + index + data, start + index + data + footer


def stream_ranges(file: BinaryIO, tail: OrcTail, stripe: int, ids: Collection[int]) -> Iterator[Range]:
    """Ranges of a stripe's values of the columns with some ids. The stripe's footer has to be present."""
    place, *_ = _place(tail, stripe)
    start, end = footer_range(tail, stripe)
    file.seek(start)
    for stream in messages(fields_of(tail.plain(file.read(end - start))), 1):
        kind, column, length = (number_of(fields_of(stream), number) for number in (1, 2, 3))
        if kind <= LAST_OF_DATA and column in ids:
            yield place, place + length
        place += length


def _place(tail: OrcTail, stripe: int) -> tuple[int, int, int, int]:
    """Offset of a stripe, and the bytes of its indexes, its values and its footer."""
    found = fields_of(messages(tail.footer, STRIPES)[stripe])
    return number_of(found, 1), number_of(found, 2), number_of(found, 3), number_of(found, 4)

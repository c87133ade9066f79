"""Rows per bucket: exact if they fit, else to an eighth of a doubling, else of neighbouring buckets together."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import numpy as np

from sharkpy.execution.tasks.collectors.row_window import Numbers, Window

_EXACT, _ROUGH = 0, 1
_HEAD = struct.Struct("<BIHq")


class RowsPerBucket:
    def __init__(self) -> None:
        self._counts: Numbers = np.zeros(0, np.int64)

    def observe(self, window: Window) -> None:
        self._counts = window.counts if not len(self._counts) else self._counts + window.counts

    def encode(self, limit: int) -> bytes:
        """Encode the kind, buckets, buckets that share a figure, rows in all, and the figures."""
        counts = self._counts
        total = int(counts.sum())
        exact = zlib.compress(np.diff(counts, prepend=0).astype("<i8").tobytes(), 1)
        if _HEAD.size + len(exact) <= limit:
            return _HEAD.pack(_EXACT, len(counts), 1, total) + exact
        width = -(-len(counts) // max(1, limit - _HEAD.size))
        sums = np.add.reduceat(counts, np.arange(0, len(counts), width))
        rough = np.ceil(np.log2(sums + 1.0) * 4).astype(np.uint8)
        return _HEAD.pack(_ROUGH, len(counts), width, total) + bytes(rough)

    @staticmethod
    def merge(parts: Sequence[bytes]) -> tuple[int, ...]:
        total = sum(map(_decode, parts), np.zeros(1))
        return tuple(int(rows) for rows in np.rint(total))


def _decode(part: bytes) -> Numbers:
    kind, size, width, rows = _HEAD.unpack_from(part)
    body = part[_HEAD.size :]
    if kind == _EXACT:
        return np.cumsum(np.frombuffer(zlib.decompress(body), "<i8")).astype(np.float64)
    shares = np.exp2(np.frombuffer(body, np.uint8) / 4.0) - 1
    spread: Numbers = np.repeat(shares / width, width)[:size]
    # The task's total is known, so the rounding error is scaled away.
    scaled: Numbers = spread * (rows / max(spread.sum(), 1.0))
    return scaled

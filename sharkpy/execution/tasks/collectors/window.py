"""What collectors see of a map task: its rows window by window, with buckets, hashes and a sample of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

SAMPLE_ROWS = 4096
"""Rows of a window that are looked at one by one; of smaller windows all are."""

Numbers = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Window:
    """Some rows of a task, together: `counts[b]` of them go to bucket b.

    `sample` are positions of about SAMPLE_ROWS of them, the same ones on every try; `sampled` are the hashes of the
    keys there and how often each was seen, empty where rows are moved by ranges; `key` is the first key column;
    `spread` are the keys dealt over spread buckets, by their hash, with the number of those.
    """

    counts: Numbers
    sample: Numbers
    sampled: tuple[Numbers, Numbers]
    key: pa.ChunkedArray[Any] | None
    spread: Mapping[int, int]

    @property
    def num_rows(self) -> int:
        return int(self.counts.sum())


def sample_positions(num_rows: int) -> Numbers:
    """Seeded, and not at even steps: rows may repeat in steps."""
    if num_rows <= SAMPLE_ROWS:
        return np.arange(num_rows)
    return np.random.Generator(np.random.PCG64(num_rows)).integers(0, num_rows, SAMPLE_ROWS)

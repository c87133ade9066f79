"""Rows that the driver holds between a query's stages: in memory if few, else in a mapped file."""

from __future__ import annotations

import itertools
import struct
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from sharkpy.execution.tasks.sinks import encode_payload, windows
from sharkpy.execution.workers.frame_files import map_once, write_stream

HELD_BYTES = 64 << 20
"""Bytes of rows above which they are written to a file."""


def hold_rows(
    exchange_id: int, schema: pa.Schema, batches: Iterable[pa.RecordBatch], folder: Path
) -> tuple[pa.Buffer, int]:
    """Return the payload of all `batches`, and its number of rows."""
    counter = _Counter(batches)
    stream = windows(counter, HELD_BYTES)
    window = next(stream, [])
    more = next(stream, None)
    if more is None:
        return encode_payload(exchange_id, schema, window), counter.rows
    path = folder / f"held-{uuid.uuid4().hex}"
    rest = itertools.chain.from_iterable(itertools.chain([window, more], stream))
    write_stream(path, struct.pack("<q", exchange_id), schema, rest)
    return map_once(path), counter.rows


class _Counter:
    """Iterable that counts the rows of its batches."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self.rows = 0
        self._batches = batches

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            self.rows += batch.num_rows
            yield batch

"""Splits that are read in advance, with their rows in order: lines in pieces by several threads, remote splits one by
one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, islice
from typing import TypeVar

import pyarrow as pa

from sharkpy.base.cancellation import Cancellation, current_cancellation, submit
from sharkpy.sources.hadoop_codecs import codec_of_path
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.registry import source
from sharkpy.sources.split import Split

PIECE_BYTES = 4 << 20
"""Bytes of a piece: as many as `line_chunks` reads at a time."""
_FEW_BYTES = 256 << 10
"""Fewer bytes than this are read faster than threads start."""

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")
ReadSplit = Callable[[Split, ReadMetrics], Iterator[pa.RecordBatch]]


def read_splits(
    splits: Sequence[Split], read: ReadSplit, metrics: ReadMetrics, threads: int
) -> Iterator[tuple[Split, pa.RecordBatch]]:
    """Batches of all splits, each with its split. Reads in advance are counted when their rows are returned."""
    is_parted = threads > 1 and all(map(_has_pieces, splits))
    pieces = [(split, piece) for split in splits for piece in _pieces(split)] if is_parted else []
    if len(pieces) < 2 or sum(piece.length for _, piece in pieces) < _FEW_BYTES:
        if len(splits) > 1 and any(split.access for split in splits):
            yield from _begun_ahead(read, splits, metrics)
            return
        for split in splits:
            for batch in read(split, metrics):
                yield split, batch
        return

    def read_piece(item: tuple[Split, Split]) -> tuple[Split, list[pa.RecordBatch], ReadMetrics]:
        counted = ReadMetrics()
        return item[0], list(read(item[1], counted)), counted

    for split, batches, counted in _made_ahead(read_piece, pieces, threads):
        metrics.merge(counted)
        for batch in batches:
            yield split, batch


def _begun_ahead(
    read: ReadSplit, splits: Sequence[Split], metrics: ReadMetrics
) -> Generator[tuple[Split, pa.RecordBatch]]:
    """Batches of splits; the first batch of the next split is read meanwhile."""
    reading = Cancellation()

    def begin(split: Split) -> tuple[list[pa.RecordBatch], Iterator[pa.RecordBatch], ReadMetrics]:
        counted = ReadMetrics()
        with reading.active():
            rest = read(split, counted)
            return list(islice(rest, 1)), rest, counted

    with (
        reading.following(current_cancellation()),
        ThreadPoolExecutor(1, thread_name_prefix="sharkpy-read") as pool,
    ):
        try:
            coming = submit(pool, begin, splits[0])
            for number, split in enumerate(splits, 1):
                first, rest, counted = coming.result()
                if number < len(splits):
                    coming = submit(pool, begin, splits[number])
                for batch in chain(first, rest):
                    yield split, batch
                metrics.merge(counted)
        finally:
            # Stop reads whose rows are no longer wanted.
            reading.cancel()


def _has_pieces(split: Split) -> bool:
    return source(split.format).splits_lines(split.properties) and codec_of_path(split.path) is None


def _pieces(split: Split) -> Iterator[Split]:
    """Parts of the split that together have its rows."""
    end = split.start + split.length
    for start in range(split.start, end, PIECE_BYTES):
        yield replace(split, start=start, length=min(PIECE_BYTES, end - start))


def _made_ahead(make: Callable[[_Item], _Made], items: Iterable[_Item], threads: int) -> Generator[_Made]:
    """`make` of each item, in order; up to `threads` items are made in advance."""
    waiting: deque[Future[_Made]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="sharkpy-read") as pool:
        try:
            for item in items:
                waiting.append(submit(pool, make, item))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

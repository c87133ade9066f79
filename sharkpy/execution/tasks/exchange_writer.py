"""Payloads of a map task by bucket, with heavy keys dealt over spread buckets, and statistics of its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

import numpy as np
import pyarrow as pa

from sharkpy.base.records import dataclass
from sharkpy.execution.tasks.buckets import BUCKET_COLUMN, HASH_COLUMN, bucket_count
from sharkpy.execution.tasks.exchange_statistics import MOST_KEYS, Numbers, TaskCollectors, Window
from sharkpy.execution.tasks.inputs import TaskMetrics
from sharkpy.execution.tasks.payloads import SPREAD_METADATA, payload_header
from sharkpy.execution.tasks.sinks import PAYLOAD_BYTES, Payload, SinkContext, conform, encode_payload, windows
from sharkpy.physical.plan import spread_buckets
from sharkpy.physical.stage_program import HashSink, RangeSink, Spread

_MOST_BUCKETS = 1 << 16
PIECES = 3
"""Spread buckets per fair share, since a heavy key costs a join more than its bytes suggest."""
SAMPLE_ROWS = 4096
"""Number of rows of a window sampled for heavy keys. Smaller windows are read whole."""


def exchange_payloads(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    sink: HashSink | RangeSink,
    context: SinkContext,
    metrics: TaskMetrics,
) -> Iterator[Payload]:
    """Yield payloads of rows whose last column is HASH_COLUMN or BUCKET_COLUMN. Order within a bucket is kept."""
    collectors = TaskCollectors()
    spreader = Spreader(sink.num_buckets, sink.spread) if isinstance(sink, HashSink) and sink.spread else None
    for batches_together in windows(batches, PAYLOAD_BYTES):
        table = pa.Table.from_batches(batches_together)
        if isinstance(sink, HashSink):
            hashes = table.column(HASH_COLUMN).to_numpy()
            buckets = hashes % np.uint64(sink.num_buckets)
            if spreader is not None:
                buckets = spreader.deal(buckets, hashes)
        else:
            buckets = table.column(BUCKET_COLUMN).to_numpy()
        counts = np.bincount(buckets.astype(np.int64), minlength=bucket_count(sink))
        rows = table.select(schema.names)
        spread = spreader.pieces if spreader else {}
        collectors.observe(Window(counts, spread))
        for bucket, part in _by_bucket(rows, buckets, counts):
            conformed = (conform(batch, schema) for batch in part.to_batches())
            header = payload_header(context.exchange_id, context.partition, bucket)
            is_spread = isinstance(sink, HashSink) and bucket >= sink.num_buckets
            written = schema.with_metadata({SPREAD_METADATA: _packed(spread)}) if is_spread else schema
            yield Payload(bucket, encode_payload(header, written, conformed), part.num_rows)
    if metrics.rows_out:
        metrics.collected = collectors.encode()


def _by_bucket(rows: pa.Table, buckets: Numbers, counts: Numbers) -> Iterator[tuple[int, pa.Table]]:
    ends = np.cumsum(counts)
    if np.count_nonzero(counts) > 1:
        # 16-bit numbers are sorted by radix sort, several times as fast.
        rows = rows.take(
            np.argsort(buckets.astype(np.uint16 if len(counts) <= _MOST_BUCKETS else np.int32), kind="stable")
        )
    for bucket in np.flatnonzero(counts):
        count = int(counts[bucket])
        yield int(bucket), rows.slice(int(ends[bucket]) - count, count).combine_chunks()


def _packed(keys: Iterable[int]) -> bytes:
    return np.array(sorted(keys), "<u8").tobytes()


def sample_positions(num_rows: int) -> Numbers:
    """Return about SAMPLE_ROWS seeded random positions, the same on each attempt. Even steps could match a pattern."""
    if num_rows <= SAMPLE_ROWS:
        return np.arange(num_rows)
    return np.random.Generator(np.random.PCG64(num_rows)).integers(0, num_rows, SAMPLE_ROWS)


@dataclass(slots=True)
class Spreader:
    """Spreader: finds a task's heavy keys and deals their rows over spread buckets in turn.

    A key is heavy if a window has more rows of it than a bucket should have. It gets PIECES spread buckets per fair
    share, and keeps them for the rest of the task.
    """

    num_buckets: int
    spread: Spread
    pieces: dict[int, int] = field(default_factory=dict)
    """Number of spread buckets of each dealt key, by its hash."""
    _dealt: dict[int, int] = field(default_factory=dict)

    def deal(self, buckets: Numbers, hashes: Numbers) -> Numbers:
        """Return `buckets` with the buckets of heavy keys' rows changed."""
        self._find(hashes)
        for key, pieces in self.pieces.items():
            rows = np.flatnonzero(hashes == np.uint64(key))
            places = np.array(spread_buckets(key, pieces, self.spread.num_buckets))
            start = self._dealt.get(key, 0)
            buckets[rows] = self.num_buckets + places[(np.arange(len(rows)) + start) % len(places)]
            self._dealt[key] = start + len(rows)
        return buckets

    def _find(self, hashes: Numbers) -> None:
        """Add a window's heavy keys to `pieces`, the heaviest first, while there is room."""
        num_rows, sample = len(hashes), sample_positions(len(hashes))
        keys, seen = np.unique(hashes[sample], return_counts=True)
        rows = seen * (num_rows / max(len(sample), 1))
        least = 1 if self.spread.is_forced else max(self.spread.min_rows, num_rows / self.num_buckets)
        heavy = np.flatnonzero(rows >= least)
        for index in heavy[np.argsort(-rows[heavy], kind="stable")]:
            key = int(keys[index])
            if len(self.pieces) >= MOST_KEYS:
                return
            if key not in self.spread.kept and key not in self.pieces:
                shares = rows[index] * self.num_buckets / num_rows
                self.pieces[key] = min(max(2, int(np.ceil(shares * PIECES))), self.spread.num_buckets)

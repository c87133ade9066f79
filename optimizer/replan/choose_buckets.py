"""The number of buckets of an exchange."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.optimizer.replan.choose_join import format_bytes

BUCKETS_PER_CORE = 2
"""Buckets are finer than tasks, so that they can be packed into tasks evenly."""
FINE_BUCKETS_PER_CORE = 8
"""Buckets per core for large exchanges, so that tasks of even size can be packed."""
FINE_BYTES = 1 << 20
"""Encoded input bytes per additional fine bucket: each bucket costs a payload in every map task."""
MIN_BUCKETS = 2
TABLE_BUCKETS_PER_CORE = 4
TABLE_BUCKET_BYTES = 64 << 20
MAX_TABLE_BUCKETS = 1024
MAX_BUCKETS = 1000
"""Largest number of buckets. With as many again for heavy keys, Spark still reports their sizes individually."""


@dataclass(frozen=True, slots=True)
class BucketDecision:
    num_buckets: int
    parallelism: int
    input_bytes: int | None
    reason: str

    @property
    def label(self) -> str:
        return (
            f"exchange: {self.num_buckets} buckets (input {format_bytes(self.input_bytes)}, "
            f"{self.parallelism} cores; {self.reason})"
        )


def choose_buckets(parallelism: int, input_bytes: int | None, target_bytes: int, configured: int = 0) -> BucketDecision:
    """Return `configured` if it is not 0, else a number of buckets per core that grows with the input.

    A bucket has at most about `target_bytes` of input.
    """
    if configured > 0:
        return BucketDecision(configured, parallelism, input_bytes, "configured")
    size = input_bytes or 0
    by_cores = parallelism * BUCKETS_PER_CORE
    fine = min(size // FINE_BYTES, parallelism * FINE_BUCKETS_PER_CORE)
    by_bytes = max(fine, -(-size // max(target_bytes, 1)))
    # Equal numbers of buckets per core give tasks of equal size.
    number = -(-max(by_cores, by_bytes, MIN_BUCKETS) // by_cores) * by_cores
    number = min(number, MAX_BUCKETS)
    return BucketDecision(number, parallelism, input_bytes, "by size" if by_bytes > by_cores else "by cores")


def choose_table_buckets(parallelism: int, input_bytes: int) -> int:
    """Return the buckets of a table: a number per core that grows with the table. It is a power of two, so that tables
    often match.
    """
    wanted = max(parallelism * TABLE_BUCKETS_PER_CORE, -(-input_bytes // TABLE_BUCKET_BYTES))
    return int(min(1 << (wanted - 1).bit_length(), MAX_TABLE_BUCKETS))

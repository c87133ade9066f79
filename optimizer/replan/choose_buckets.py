"""Number of buckets of an exchange."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.optimizer.replan.choose_join import format_bytes

BUCKETS_PER_CORE = 2
"""Buckets are finer than tasks, so that tasks can be packed evenly from them."""
FINE_BUCKETS_PER_CORE = 8
"""Buckets a core where there is much to move, so that tasks of even size can be made of them."""
FINE_BYTES = 1 << 20
"""Encoded bytes of input for which there is another fine bucket: each costs a payload in every map task."""
MIN_BUCKETS = 2
TABLE_BUCKETS_PER_CORE = 4
TABLE_BUCKET_BYTES = 64 << 20
MAX_TABLE_BUCKETS = 1024
MAX_BUCKETS = 1000
"""Largest number of buckets: with as many again for heavy keys, Spark still reports their sizes one by one."""


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
    """`configured` where it is not 0; else some for each core, more of them the more there is to move.

    A bucket has at most about `target_bytes` of input.
    """
    if configured > 0:
        return BucketDecision(configured, parallelism, input_bytes, "configured")
    size = input_bytes or 0
    by_cores = parallelism * BUCKETS_PER_CORE
    fine = min(size // FINE_BYTES, parallelism * FINE_BUCKETS_PER_CORE)
    by_bytes = max(fine, -(-size // max(target_bytes, 1)))
    # Of even numbers of buckets come even tasks.
    number = -(-max(by_cores, by_bytes, MIN_BUCKETS) // by_cores) * by_cores
    number = min(number, MAX_BUCKETS)
    return BucketDecision(number, parallelism, input_bytes, "by size" if by_bytes > by_cores else "by cores")


def choose_table_buckets(parallelism: int, input_bytes: int) -> int:
    """Buckets of a table: some for each core, more of them the larger it is. A power of two, as tables often meet."""
    wanted = max(parallelism * TABLE_BUCKETS_PER_CORE, -(-input_bytes // TABLE_BUCKET_BYTES))
    return int(min(1 << (wanted - 1).bit_length(), MAX_TABLE_BUCKETS))

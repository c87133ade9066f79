"""How many buckets an exchange has."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.optimizer.replan.choose_join import format_bytes

BUCKETS_PER_CORE = 2
"""Buckets are finer than tasks, so that tasks can be packed evenly from them."""
MIN_BUCKETS = 2
MAX_BUCKETS = 2000


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
    """`configured` where it is not 0; else enough buckets for the cores, and for `target_bytes` a bucket."""
    if configured > 0:
        return BucketDecision(configured, parallelism, input_bytes, "configured")
    by_cores = parallelism * BUCKETS_PER_CORE
    by_bytes = 0 if input_bytes is None else -(-input_bytes // max(target_bytes, 1))
    number = min(max(by_cores, by_bytes, MIN_BUCKETS), MAX_BUCKETS)
    return BucketDecision(number, parallelism, input_bytes, "by size" if by_bytes > by_cores else "by cores")

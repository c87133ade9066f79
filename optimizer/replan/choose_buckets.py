"""How many buckets an exchange has, and how they are packed into tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sharkpy.optimizer.replan.choose_join import format_bytes

BUCKETS_PER_CORE = 4
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


@dataclass(frozen=True, slots=True)
class PackDecision:
    """`tasks[i]` are the buckets that task i reads."""

    tasks: tuple[tuple[int, ...], ...]
    bucket_bytes: tuple[int, ...]
    target_bytes: int

    @property
    def label(self) -> str:
        total = format_bytes(sum(self.bucket_bytes))
        return f"reduce: {len(self.bucket_bytes)} buckets in {len(self.tasks)} tasks ({total} in all)"


def pack_buckets(bucket_bytes: Sequence[int], parallelism: int, target_bytes: int) -> PackDecision:
    """Empty buckets dropped, the rest spread evenly: largest first, each to the task with the least so far."""
    filled = sorted((i for i, size in enumerate(bucket_bytes) if size > 0), key=lambda i: (-bucket_bytes[i], i))
    total = sum(bucket_bytes)
    number = min(len(filled), max(parallelism, -(-total // max(target_bytes, 1))))
    loads = [0] * number
    tasks: list[list[int]] = [[] for _ in range(number)]
    for bucket in filled:
        task = min(range(number), key=lambda i: (loads[i], i))
        tasks[task].append(bucket)
        loads[task] += bucket_bytes[bucket]
    return PackDecision(tuple(tuple(sorted(task)) for task in tasks), tuple(bucket_bytes), target_bytes)

"""Buckets of an exchange: their number, and their packing into few reading tasks by measured bytes."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Hashable, Sequence

from sharkpy.base.records import dataclass
from sharkpy.optimizer.decisions import Decision, format_bytes

BUCKETS_PER_CORE = 2
"""Buckets are finer than tasks, so that they can be packed into tasks evenly."""
FINE_BUCKETS_PER_CORE = 8
"""Buckets per core for large exchanges, so that tasks of even size can be packed."""
FINE_BUCKET_BYTES = 1 << 20
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
    fine = min(size // FINE_BUCKET_BYTES, parallelism * FINE_BUCKETS_PER_CORE)
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


# Packing of buckets into tasks


TASK_BYTES = 64 << 20
"""Payload bytes of a reading task, if buckets are small enough."""
SMALL_BYTES = 1 << 20
"""Below this size one task reads all buckets: starting a second task costs more than it saves."""
TWO_TASK_BYTES = 8 << 20
"""Bytes per core from which each core gets two tasks, which evens out work that bytes do not measure."""

Packed = tuple[int, ...]
"""Planned tasks that one task runs, in order."""


def pack_buckets(
    sizes: Sequence[int], parallelism: int, groups: Sequence[Hashable] = (), *, is_ordered: bool = False
) -> list[Packed]:
    """Pack planned tasks of `sizes` bytes into as many tasks as keep all cores busy.

    The largest is packed first, each into the task with the fewest bytes. `is_ordered`: pack only runs of neighbours,
    in order. Only members of one group share a task. Groups are packed before members without a group (None), which may
    share any task: pieces of heavy keys take more work than their bytes show. Planned tasks without bytes are dropped,
    except one if all are empty.
    """
    share = task_share(sum(sizes), parallelism)
    if is_ordered:
        return _runs(sizes, share)
    packed: list[Packed] = []
    for members in _grouped(sizes, groups):
        count = min(len(members), max(1, round(sum(sizes[one] for one in members) / share)))
        packed += _balanced(members, sizes, count, groups)
    return sorted(packed) or [(0,)]


def task_share(total: int, parallelism: int) -> int:
    """Return the bytes of `total` that a task should read."""
    tasks = parallelism * (2 if total >= TWO_TASK_BYTES * parallelism else 1)
    return max(SMALL_BYTES, min(TASK_BYTES, -(-total // tasks)))


def _grouped(sizes: Sequence[int], groups: Sequence[Hashable]) -> list[list[int]]:
    by_group: dict[Hashable, list[int]] = defaultdict(list)
    for index, size in enumerate(sizes):
        if size:
            by_group[groups[index] if groups else None].append(index)
    anywhere = by_group.pop(None, [])
    found = list(by_group.values())
    if not found:
        return [anywhere] if anywhere else []
    return [sorted(anywhere + found[0]), *found[1:]]


def _balanced(members: Sequence[int], sizes: Sequence[int], count: int, groups: Sequence[Hashable]) -> list[Packed]:
    heap: list[tuple[int, int]] = [(0, number) for number in range(count)]
    tasks: list[list[int]] = [[] for _ in range(count)]
    for member in sorted(members, key=lambda one: (bool(groups) and groups[one] is None, -sizes[one], one)):
        load, number = heapq.heappop(heap)
        tasks[number].append(member)
        heapq.heappush(heap, (load + sizes[member], number))
    return [tuple(sorted(task)) for task in tasks if task]


def _runs(sizes: Sequence[int], share: int) -> list[Packed]:
    runs: list[Packed] = []
    start, taken = 0, 0
    for index, size in enumerate(sizes):
        # A run ends if less than half of the next planned task would fit.
        if index > start and taken + size / 2 > share:
            runs.append(tuple(range(start, index)))
            start, taken = index, 0
        taken += size
    return [*runs, tuple(range(start, len(sizes)))]


def packing_decision(exchange_ids: Sequence[int], sizes: Sequence[int], packed: Sequence[Packed]) -> Decision:
    loads = sorted(sum(sizes[one] for one in task) for task in packed)
    names = ", ".join(map(str, exchange_ids))
    tasks = f"{len(packed)} {'task' if len(packed) == 1 else 'tasks'}"
    text = f"{len(sizes)} buckets of exchange {names} are read by {tasks}"
    figures = (("bytes", sum(sizes)), ("largest task", loads[-1]), ("median task", loads[len(loads) // 2]))
    return Decision("pack_buckets", text, (*figures, ("largest bucket", max(sizes, default=0))))

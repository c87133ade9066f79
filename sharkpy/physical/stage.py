"""Stages between exchanges: a program, and the inputs of each of its tasks.

Blocks and splits are divided among tasks so that each has about equal bytes, on the host that holds them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, TypeVar

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.columnar.handle import BlockHandle
from sharkpy.optimizer.decisions import Decision, Place, Placement
from sharkpy.physical.operators import BlockScan, FileScan, GivenScan
from sharkpy.physical.plan import DealtBuckets, Hashed, PhysicalPlan
from sharkpy.physical.stage_program import BroadcastColumns, StageProgram, TaskInput
from sharkpy.plan.arrow_data import GivenRows
from sharkpy.sources.source import Split

if TYPE_CHECKING:
    import pyarrow as pa

AS_TASKS = Placement(Place.RDD, "it was made to run as RDD tasks", is_fixed=True)


@dataclass(frozen=True, slots=True)
class Stage:
    """Stage: a program, its tasks, label and placement. Task i reads bucket i of its exchanges unless set below."""

    program: StageProgram
    tasks: tuple[TaskInput, ...]
    label: str = "stage"
    singles: frozenset[int] = frozenset()
    """Exchanges that the first task reads whole."""
    dealt: tuple[tuple[int, DealtBuckets], ...] = ()
    """Exchanges by id whose buckets are dealt to tasks in another way."""
    placement: Placement = AS_TASKS
    fragment: PhysicalPlan | None = None
    """Operators from which the program was made."""
    leaves: tuple[tuple[str, PhysicalPlan], ...] = ()
    """Scans and exchange reads of the program's relations, by name."""
    kernels: tuple[Decision, ...] = ()
    """Decisions between kernels and DuckDB."""
    is_alone: bool = False
    """True if it is its plan's only stage, and nothing runs before it."""
    rows: pa.RecordBatch | None = field(default=None, compare=False, repr=False)
    """Rows of a stage in the driver that are known without running its program, which is then empty."""

    @property
    def given(self) -> dict[str, GivenRows]:
        """Rows passed by Python programs to the stage's tasks, by relation."""
        return {relation: leaf.rows for relation, leaf in self.leaves if isinstance(leaf, GivenScan)}

    @property
    def given_rdd(self) -> GivenRows | None:
        """Rows of the RDD in whose tasks the stage runs, if any. Raise UnsupportedError for rows of two programs."""
        found = list(self.given.values())
        if len(found) > 1:
            raise UnsupportedError("rows of two Python programs in one stage", hint="save one of them as a table")
        return found[0] if found else None

    @property
    def broadcasts(self) -> list[BroadcastColumns]:
        return [spec for spec in self.program.data_inputs if isinstance(spec, BroadcastColumns)]


# Inputs of tasks


T = TypeVar("T")
_TASKS_PER_CORE = 2
_TASK_BYTES = 32 << 20
"""Encoded bytes per task if there is more than one per core; each task has a cost."""


def divide_among_tasks(
    scans: Mapping[str, BlockScan | FileScan], num_tasks: int | None, parallelism: int
) -> tuple[TaskInput, ...]:
    """Return the tasks' inputs. If `num_tasks` is None, it follows from the number and bytes of blocks and splits.

    Within a task, parts stay in the table's order. For scans by bucket, task i gets bucket i if `num_tasks` is the
    number of the exchanges' buckets. Otherwise each task gets some whole buckets, the same of each scan.
    """
    dealt = {name: scan for name, scan in scans.items() if not _is_replicated(scan)}
    count = num_tasks if num_tasks is not None else _num_tasks(dealt, parallelism)
    tasks_of = range(count) if num_tasks is not None else _tasks_of_buckets(dealt, count)
    blocks: list[list[tuple[str, tuple[BlockHandle, ...]]]] = [[] for _ in range(count)]
    splits: list[list[tuple[str, tuple[Split, ...]]]] = [[] for _ in range(count)]
    for relation, scan in scans.items():
        if isinstance(scan, BlockScan) and scan.is_replicated:
            for task in blocks:
                task.append((relation, scan.blocks.blocks))
        elif isinstance(scan, BlockScan) and isinstance(scan.distribution, Hashed):
            for index, part in enumerate(_by_bucket(scan.blocks.blocks, tasks_of, count)):
                blocks[index].append((relation, part))
        elif isinstance(scan, BlockScan):
            for index, part in enumerate(_balance_blocks(scan.blocks.blocks, _block_bytes(scan), count)):
                blocks[index].append((relation, part))
        else:
            for index, piece in enumerate(_balance(scan.splits.splits, _split_bytes, count)):
                splits[index].append((relation, piece))
    return tuple(TaskInput(tuple(blocks[index]), tuple(splits[index])) for index in range(count))


def merged_inputs(parts: Sequence[TaskInput]) -> TaskInput:
    """Merge the inputs of several tasks into one. Parts that several read are read once."""
    if len(parts) == 1:
        return parts[0]
    blocks: dict[str, dict[BlockHandle, None]] = {}
    splits: dict[str, dict[Split, None]] = {}
    for part in parts:
        for relation, handles in part.blocks:
            blocks.setdefault(relation, {}).update(dict.fromkeys(handles))
        for relation, pieces in part.splits:
            splits.setdefault(relation, {}).update(dict.fromkeys(pieces))
    return TaskInput(
        tuple((relation, tuple(handles)) for relation, handles in blocks.items()),
        tuple((relation, tuple(pieces)) for relation, pieces in splits.items()),
    )


def _tasks_of_buckets(scans: Mapping[str, BlockScan | FileScan], count: int) -> Sequence[int]:
    """Return the task of each bucket, so that tasks have about equal bytes."""
    loads: dict[int, int] = {}
    for scan in scans.values():
        if isinstance(scan, BlockScan) and isinstance(scan.distribution, Hashed):
            weight = _block_bytes(scan)
            for block in scan.blocks.blocks:
                bucket = block.bucket or 0
                loads[bucket] = loads.get(bucket, 0) + weight(block)
    tasks = [0] * (max(loads, default=0) + 1)
    for task, buckets in enumerate(_balance(sorted(loads), loads.__getitem__, count)):
        for bucket in buckets:
            tasks[bucket] = task
    return tasks


def _by_bucket(blocks: Sequence[BlockHandle], tasks: Sequence[int], count: int) -> list[tuple[BlockHandle, ...]]:
    parts: list[list[BlockHandle]] = [[] for _ in range(count)]
    for block in blocks:
        parts[tasks[block.bucket or 0] if count > 1 else 0].append(block)
    return list(map(tuple, parts))


def _is_replicated(scan: BlockScan | FileScan) -> bool:
    return isinstance(scan, BlockScan) and scan.is_replicated


def _num_tasks(scans: Mapping[str, BlockScan | FileScan], parallelism: int) -> int:
    pieces, total = 0, 0
    for scan in scans.values():
        if isinstance(scan, BlockScan):
            pieces += len(scan.blocks.blocks)
            total += scan.blocks.column_bytes(scan.names)
        else:
            pieces += len(scan.splits.splits)
            total += scan.splits.size_bytes
    by_bytes = max(parallelism, -(-total // _TASK_BYTES))
    return max(1, min(pieces, by_bytes, parallelism * _TASKS_PER_CORE))


def preferred_host(part: TaskInput) -> str:
    """Return the host with most bytes of the task's blocks in memory; "" means any."""
    held: dict[str, int] = {}
    for _, handles in part.blocks:
        for handle in handles:
            held[handle.host] = held.get(handle.host, 0) + handle.size_bytes
    return max(held, key=lambda host: held[host], default="")


def _balance_blocks(
    blocks: Sequence[BlockHandle], weight: Callable[[BlockHandle], int], count: int
) -> list[tuple[BlockHandle, ...]]:
    """Balance blocks. If they are on several hosts and tasks suffice, each task has blocks of one host."""
    by_host: dict[str, list[BlockHandle]] = {}
    for block in blocks:
        by_host.setdefault(block.host, []).append(block)
    if len(by_host) < 2 or count < len(by_host):
        return _balance(blocks, weight, count)
    shares = dict.fromkeys(by_host, 1)
    loads = {host: sum(map(weight, held)) for host, held in by_host.items()}
    for _ in range(count - len(by_host)):
        shares[max(by_host, key=lambda host: (loads[host] / shares[host], host))] += 1
    return [part for host, held in by_host.items() for part in _balance(held, weight, shares[host])]


def _balance(items: Sequence[T], weight: Callable[[T], int], count: int) -> list[tuple[T, ...]]:
    """Divide `items` into `count` parts of about equal weight: the heaviest first, each to the lightest part."""
    parts: list[list[int]] = [[] for _ in range(count)]
    heap = [(0, index) for index in range(count)]
    weights = [weight(item) for item in items]
    for position in sorted(range(len(items)), key=lambda i: -weights[i]):
        load, index = heapq.heappop(heap)
        parts[index].append(position)
        heapq.heappush(heap, (load + weights[position] + 1, index))
    return [tuple(items[position] for position in sorted(part)) for part in parts]


def _block_bytes(scan: BlockScan) -> Callable[[BlockHandle], int]:
    names = frozenset(scan.names)
    return lambda block: block.bytes_of(names)


def _split_bytes(split: Split) -> int:
    return split.length

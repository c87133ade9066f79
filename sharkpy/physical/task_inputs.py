"""Blocks and splits dealt to tasks, balanced by bytes."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from sharkpy.columnar.handle import BlockHandle
from sharkpy.physical.operators import BlockScan, FileScan
from sharkpy.physical.stage import TaskInput
from sharkpy.sources.split import Split

T = TypeVar("T")
_TASKS_PER_CORE = 2
_TASK_BYTES = 32 << 20
"""Encoded bytes of a task, where there is more than one for each core: more tasks even out, but each has a cost."""


def deal(scans: Mapping[str, BlockScan | FileScan], num_tasks: int | None, parallelism: int) -> tuple[TaskInput, ...]:
    """The tasks' inputs; `num_tasks` None: from the number and bytes of blocks and splits.

    Parts stay in the order of the table within a task, and with one task altogether.
    """
    dealt = {name: scan for name, scan in scans.items() if not _is_replicated(scan)}
    count = num_tasks if num_tasks is not None else _num_tasks(dealt, parallelism)
    blocks: list[list[tuple[str, tuple[BlockHandle, ...]]]] = [[] for _ in range(count)]
    splits: list[list[tuple[str, tuple[Split, ...]]]] = [[] for _ in range(count)]
    for relation, scan in scans.items():
        if isinstance(scan, BlockScan) and scan.is_replicated:
            for task in blocks:
                task.append((relation, scan.blocks.blocks))
        elif isinstance(scan, BlockScan):
            for index, part in enumerate(_balance(scan.blocks.blocks, _block_bytes(scan), count)):
                blocks[index].append((relation, part))
        else:
            for index, piece in enumerate(_balance(scan.splits.splits, _split_bytes, count)):
                splits[index].append((relation, piece))
    return tuple(TaskInput(tuple(blocks[index]), tuple(splits[index])) for index in range(count))


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


def _balance(items: Sequence[T], weight: Callable[[T], int], count: int) -> list[tuple[T, ...]]:
    """`items` in `count` parts of about equal weight: the heaviest first, each to the lightest part."""
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
    return lambda block: sum(size for name, size in block.column_bytes if name in names)


def _split_bytes(split: Split) -> int:
    return split.length

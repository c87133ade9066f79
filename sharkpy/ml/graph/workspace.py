"""Workspaces store a graph's arrays and run its tasks: in this process, or in the block store and as RDD tasks."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from sharkpy.base.cancellation import check_cancelled, submit
from sharkpy.base.records import dataclass
from sharkpy.columnar.block import StoredArrays, encode_arrays
from sharkpy.columnar.block_cache import open_block
from sharkpy.columnar.handle import BlockHandle

if TYPE_CHECKING:
    from sharkpy.columnar.block_writer import BlockWriter, ExecutorWriter
    from sharkpy.execution.engine import Engine
    from sharkpy.execution.spark.pools import Pool

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class InMemoryArrays:
    """Arrays stored in this process."""

    arrays: Mapping[str, Array]

    @property
    def size_bytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())


Handle: TypeAlias = BlockHandle | InMemoryArrays


def read(handle: Handle) -> Mapping[str, Array]:
    """Return the arrays by name, read-only. Raise BlockMissingError or CorruptionError if a block is lost or
    damaged.
    """
    return handle.arrays if isinstance(handle, InMemoryArrays) else StoredArrays(open_block(handle))


class ArrayWriter(Protocol):
    """Writer of arrays, given to tasks; picklable if these run elsewhere."""

    def write(self, arrays: Mapping[str, Array]) -> Handle:
        """Store `arrays`, which must not be modified from now on."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """Outcome of a task: the arrays that it wrote, and a small value."""

    handles: tuple[Handle, ...]
    value: Any = None


TaskFunction: TypeAlias = Callable[[int, ArrayWriter, Any], TaskResult]
"""Task of a graph: a function of a module that takes a number, a writer of arrays, and an argument. Equal arguments
produce equal arrays.
"""


class Workspace(Protocol):
    """Place of arrays and tasks. Arrays live as long as their handles."""

    can_lose: bool
    """True if arrays can get lost, so that lineage and checkpoints are needed."""

    def put(self, arrays: Mapping[str, Array]) -> Handle:
        """Store arrays of this process in a place that tasks can read."""

    def run(
        self,
        function: TaskFunction,
        numbers: Sequence[int],
        argument: Any,
        *,
        near: Sequence[Handle] = (),
        is_durable: bool = False,
    ) -> list[TaskResult]:
        """Run a task for each of `numbers`. Return outcomes in their order.

        `near`: by task, arrays near which it should run. `is_durable`: arrays are written to disk, too.
        """

    def mend(self, handle: Handle) -> bool:
        """Restore lost or damaged arrays from a durable copy. Return False if there is none."""


class _ProcessWriter:
    def write(self, arrays: Mapping[str, Array]) -> Handle:
        kept = {name: np.ascontiguousarray(array).view() for name, array in arrays.items()}
        for array in kept.values():
            array.flags.writeable = False
        return InMemoryArrays(kept)


class ProcessWorkspace:
    """Workspace in this process, with tasks on all its cores."""

    can_lose = False

    def put(self, arrays: Mapping[str, Array]) -> Handle:
        return InMemoryArrays(arrays)

    def run(
        self,
        function: TaskFunction,
        numbers: Sequence[int],
        argument: Any,
        *,
        near: Sequence[Handle] = (),
        is_durable: bool = False,
    ) -> list[TaskResult]:
        del near, is_durable
        check_cancelled()
        if len(numbers) < 2:
            return [function(number, _ProcessWriter(), argument) for number in numbers]
        with ThreadPoolExecutor(min(len(numbers), os.cpu_count() or 1)) as pool:
            runs = [submit(pool, function, number, _ProcessWriter(), argument) for number in numbers]
            return [run.result() for run in runs]

    def mend(self, handle: Handle) -> bool:
        return isinstance(handle, InMemoryArrays)


@dataclass(frozen=True, slots=True)
class _BlockArrays:
    """ArrayWriter over a writer of blocks."""

    writer: BlockWriter | ExecutorWriter
    durable_dir: str | None = None

    def write(self, arrays: Mapping[str, Array]) -> Handle:
        return self.writer.write(encode_arrays(arrays), self.durable_dir, is_synced=False)


@dataclass(frozen=True, slots=True)
class RddWorkspace:
    """Workspace of blocks in the session's store, written and read by tasks of RDD jobs."""

    engine: Engine
    pool: Pool
    description: str = "graph"
    can_lose = True
    _name: str = field(default_factory=lambda: f"graph-{uuid.uuid4().hex[:12]}")

    def put(self, arrays: Mapping[str, Array]) -> Handle:
        handle = _BlockArrays(self.engine.store.writer()).write(arrays)
        self._keep([handle])
        return handle

    def run(
        self,
        function: TaskFunction,
        numbers: Sequence[int],
        argument: Any,
        *,
        near: Sequence[Handle] = (),
        is_durable: bool = False,
    ) -> list[TaskResult]:
        from sharkpy.execution.stages.function_jobs import run_functions

        store = self.engine.store
        prefix = f"{self._name}-{uuid.uuid4().hex[:8]}-"
        durable_dir = store.local_dir if is_durable else None
        writer = _BlockArrays(replace(self.engine.task_writer(), prefix=prefix), durable_dir)
        made: list[TaskResult] = []
        store.claim(prefix)
        try:
            made = run_functions(
                self.engine,
                _run_task,
                numbers,
                (function, writer, argument),
                self.description,
                self.pool,
                [handle.host for handle in near if isinstance(handle, BlockHandle)],
            )
        finally:
            # The end of the claim frees arrays of tasks that were killed, or run a second time.
            told = [handle for one in made for handle in one.handles]
            store.release_unreported(prefix, [one for one in told if isinstance(one, BlockHandle)], durable_dir)
        self._keep(told)
        return made

    def mend(self, handle: Handle) -> bool:
        return isinstance(handle, BlockHandle) and self.engine.store.mend(handle)

    def _keep(self, handles: Sequence[Handle]) -> None:
        """Have the store free the blocks after the last of these handles is gone."""
        store = self.engine.store
        blocks = [handle for handle in handles if isinstance(handle, BlockHandle)]
        store.adopt(blocks)
        store.retire(blocks, durable=True)
        # The next job will write as much again.
        store.make_room(sum(block.size_bytes for block in blocks))


def _run_task(number: int, argument: tuple[TaskFunction, ArrayWriter, Any]) -> TaskResult:
    function, writer, rest = argument
    return function(number, writer, rest)

"""Supersteps since the last checkpoint, from which lost states of partitions are recomputed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sharkpy.base.errors import CorruptionError
from sharkpy.columnar.handle import BlockHandle
from sharkpy.ml.graph.superstep import PartitionState, Superstep, run_superstep
from sharkpy.ml.graph.workspace import Handle, TaskResult, Workspace

_MOST_REPAIRS = 100
"""Limit on the blocks recomputed in one superstep; after that the failure is raised."""


@dataclass(slots=True)
class SuperstepLineage:
    """Runner of supersteps that records them. Tasks are deterministic: recomputed states are the same, bit by bit."""

    workspace: Workspace
    graph: Sequence[Handle]
    """Arrays of vertices and edges."""
    _records: list[tuple[Superstep, tuple[PartitionState, ...]]] = field(default_factory=list)
    """Supersteps with the states after them. The first record is durable, or it is the first superstep."""

    def run(self, step: Superstep, partitions: Sequence[int], *, is_checkpoint: bool) -> list[TaskResult]:
        """Run the tasks of a superstep, after recomputing lost inputs."""
        for _ in range(_MOST_REPAIRS):
            try:
                return self._run(step, partitions, is_checkpoint)
            except CorruptionError as error:
                self._repair(error)
                step = replace(step, states=self.states)
        return self._run(step, partitions, is_checkpoint)

    def _run(self, step: Superstep, partitions: Sequence[int], is_durable: bool = False) -> list[TaskResult]:
        near = [step.edges[partition] for partition in partitions]
        return self.workspace.run(run_superstep, partitions, step, near=near, is_durable=is_durable)

    @property
    def states(self) -> tuple[PartitionState, ...]:
        """States after the last superstep; empty before the first."""
        return self._records[-1][1] if self._records else ()

    def note(self, step: Superstep, states: tuple[PartitionState, ...], *, is_checkpoint: bool) -> None:
        """Record a superstep. Drop earlier records after a checkpoint, or if arrays cannot get lost."""
        if is_checkpoint or not self.workspace.can_lose:
            self._records.clear()
        self._records.append((replace(step, states=()), states))

    def _repair(self, error: CorruptionError) -> None:
        """Recompute the block of `error`. Raise `error` if that is impossible."""
        for handle in self.graph:
            if _is_block(handle, error.block_id):
                if self.workspace.mend(handle):
                    return
                raise error
        for place, (_, states) in enumerate(self._records):
            for partition, state in enumerate(states):
                if _is_block(state.handle, error.block_id):
                    if not self.workspace.mend(state.handle):
                        self._compute_again(place, partition, error)
                    return
        raise error

    def _compute_again(self, place: int, partition: int, error: CorruptionError) -> None:
        step, states = self._records[place]
        if place == 0 and step.number > 0:
            raise error
        lost = states[partition].handle
        for _ in range(_MOST_REPAIRS):
            before = self._records[place - 1][1] if place else ()
            try:
                made = self._run(replace(step, states=before), [partition])
                break
            except CorruptionError as other:
                self._repair(other)
        else:
            raise error
        again: PartitionState = made[0].value[0]
        for number, (kept, states) in enumerate(self._records):
            found = tuple(replace(one, handle=again.handle) if one.handle is lost else one for one in states)
            self._records[number] = (kept, found)


def _is_block(handle: Handle, block_id: str | None) -> bool:
    return isinstance(handle, BlockHandle) and handle.block_id == block_id

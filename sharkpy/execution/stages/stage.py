"""A stage as it is run, and who may watch while it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from sharkpy.base.errors import UnsupportedError
from sharkpy.physical.distribution import DealtBuckets
from sharkpy.physical.operators import GivenScan
from sharkpy.physical.stage import BroadcastColumns, StageProgram, TaskInput

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.execution.tasks.inputs import TaskData
    from sharkpy.execution.tasks.report import TaskReport
    from sharkpy.execution.workers.connection import ConnectionSettings
    from sharkpy.physical.plan import PhysicalPlan
    from sharkpy.plan.given_rows import GivenRows

Payloads = Mapping[int, Sequence["pa.Buffer"]]
"""What exchanges bring to a task, by the exchange's id."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A program, its tasks, and its name; exchanges in `singles` are read whole by the first task."""

    program: StageProgram
    tasks: tuple[TaskInput, ...]
    label: str = "stage"
    singles: frozenset[int] = frozenset()
    dealt: tuple[tuple[int, DealtBuckets], ...] = field(default=(), kw_only=True)
    """Which task reads which bucket of an exchange, where that is not bucket i by task i."""
    fragment: PhysicalPlan | None = None
    """The operators that the program was made of."""
    leaves: tuple[tuple[str, PhysicalPlan], ...] = ()
    """What the program's relations read, by name."""

    @property
    def given(self) -> GivenRows | None:
        """What a Python program hands over to the stage's tasks."""
        found = [leaf.rows for _, leaf in self.leaves if isinstance(leaf, GivenScan)]
        if len(found) > 1:
            raise UnsupportedError("rows of two Python programs in one stage", hint="save one of them as a table")
        return found[0] if found else None

    @property
    def broadcasts(self) -> list[BroadcastColumns]:
        return [spec for spec in self.program.data_inputs if isinstance(spec, BroadcastColumns)]


class StageObserver(Protocol):
    """Hears of each stage of a query: `running` is entered, one of the `_task` calls follows for each run of the
    stage (again after a repair), then `ended`, and `running` is left.
    """

    def running(self, stage: Stage) -> AbstractContextManager[None]:
        """Around all runs of the stage."""

    def driver_task(self, stage: Stage, number: int, data: TaskData, connection: ConnectionSettings) -> None:
        """A task is about to run in the driver."""

    def rdd_tasks(
        self,
        stage: Stage,
        tasks: tuple[TaskInput, ...],
        payloads: Callable[[int], Payloads],
        table: Callable[[BroadcastColumns], pa.Table],
    ) -> None:
        """Tasks are about to run in an RDD job; what they read is fetched where it is asked for."""

    def ended(self, stage: Stage, reports: Sequence[TaskReport]) -> None:
        """A run of the stage is over."""


class Unobserved:
    """The StageObserver of those who do not look."""

    def running(self, stage: Stage) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()

    def driver_task(self, stage: Stage, number: int, data: TaskData, connection: ConnectionSettings) -> None: ...

    def rdd_tasks(
        self,
        stage: Stage,
        tasks: tuple[TaskInput, ...],
        payloads: Callable[[int], Payloads],
        table: Callable[[BroadcastColumns], pa.Table],
    ) -> None: ...

    def ended(self, stage: Stage, reports: Sequence[TaskReport]) -> None: ...

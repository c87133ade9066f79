"""Observers of a query's stages: called before and after each run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

from sharkpy.physical.stage import Stage
from sharkpy.physical.stage_program import BroadcastColumns, TaskInput

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.execution.tasks.inputs import TaskData
    from sharkpy.execution.tasks.report import TaskReport
    from sharkpy.execution.workers.connection_pool import ConnectionSettings

Payloads = Mapping[int, Sequence["pa.Buffer"]]
"""Exchange payloads of a task, by the exchange's id."""


class StageObserver(Protocol):
    """Observer of each stage of a query.

    `running` is entered, then each run of the stage (again after a repair) calls one of the `_task` methods and
    `ended`, and finally `running` is left.
    """

    def running(self, stage: Stage) -> AbstractContextManager[None]:
        """Context around all runs of the stage."""

    def driver_task(self, stage: Stage, number: int, data: TaskData, connection: ConnectionSettings) -> None:
        """Called before a task runs in the driver."""

    def rdd_tasks(
        self,
        stage: Stage,
        tasks: tuple[TaskInput, ...],
        payloads: Callable[[int], Payloads],
        table: Callable[[BroadcastColumns], pa.Table],
    ) -> None:
        """Called before tasks run in an RDD job; their inputs are fetched on demand."""

    def ended(self, stage: Stage, reports: Sequence[TaskReport]) -> None:
        """Called after a run of the stage."""


class Unobserved:
    """StageObserver that does nothing."""

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

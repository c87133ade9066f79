"""Observers of a query's stages, and the one that records stages under `shark.debug.record`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field, replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from sharkpy.base import settings
from sharkpy.base.errors import CancelledError, SharkError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import Conf
from sharkpy.execution.engine import Engine
from sharkpy.execution.stages.stage_record import StageContent, StageFacts, StageRecord, new_folder, outcome
from sharkpy.execution.tasks.inputs import TaskData
from sharkpy.execution.tasks.report import TaskReport
from sharkpy.execution.workers.connection_pool import ConnectionSettings
from sharkpy.execution.workers.worker_environment import expected_versions
from sharkpy.physical.stage import Stage
from sharkpy.physical.stage_program import BroadcastColumns, ExchangeColumns, TaskInput

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


def stage_observer(engine: Engine, conf: Conf, description: str) -> StageObserver:
    """Return the observer of a query's stages under these settings."""
    return StageRecorder(engine, conf, description) if conf.value(settings.DEBUG_RECORD) else Unobserved()


@dataclass(frozen=True, slots=True)
class StageRecorder:
    """StageObserver that records each stage's inputs and results."""

    engine: Engine
    conf: Conf
    description: str
    records: dict[int, StageRecord] = field(default_factory=dict)
    """Records of the running stages, by the stage's identity."""

    @contextmanager
    def running(self, stage: Stage) -> Iterator[None]:
        try:
            yield
        except SharkError as error:
            record = self.records.get(id(stage))
            if record is not None and not isinstance(error, CancelledError):
                record.facts = replace(record.facts, error=str(error))
                record.save_facts()
                command = f"sharkpy debug-stage {record.folder.parent} --stage {record.facts.number}"
                error.hint = "; ".join(filter(None, (error.hint, f"to run the stage alone: {command}")))
            raise
        finally:
            self.records.pop(id(stage), None)

    def driver_task(self, stage: Stage, number: int, data: TaskData, connection: ConnectionSettings) -> None:
        record = self._record(stage, "driver", stage.tasks, connection)
        record.save_payloads(number, data.payloads)
        for exchange_id, table in data.broadcasts.items():
            record.save_broadcast(exchange_id, table)

    def rdd_tasks(
        self,
        stage: Stage,
        tasks: tuple[TaskInput, ...],
        payloads: Callable[[int], Payloads],
        table: Callable[[BroadcastColumns], pa.Table],
    ) -> None:
        record = self._record(stage, "rdd", tasks, self.engine.task_settings().connection)
        if any(isinstance(spec, ExchangeColumns) for spec in stage.program.data_inputs):
            for number in range(len(tasks)):
                record.save_payloads(number, payloads(number))
        for spec in stage.broadcasts:
            record.save_broadcast(spec.exchange_id, table(spec))

    def ended(self, stage: Stage, reports: Sequence[TaskReport]) -> None:
        if (record := self.records.get(id(stage))) is not None:
            record.facts = replace(record.facts, outcomes=tuple(map(outcome, reports)))
            record.save_facts()

    def _record(
        self, stage: Stage, placement: str, tasks: tuple[TaskInput, ...], connection: ConnectionSettings
    ) -> StageRecord:
        """Return the stage's record, begun if there is none: a repaired stage runs more than once."""
        if (known := self.records.get(id(stage))) is not None:
            return known
        folder, number = new_folder(Path(self.conf.value(settings.DEBUG_RECORD)))
        facts = StageFacts(
            number,
            self.description,
            stage.label,
            placement,
            len(tasks),
            stage.program.sql,
            expected_versions(),
            dict(self.conf.changes()),
        )
        record = StageRecord(folder, facts, self.conf.value(settings.DEBUG_RECORD_BYTES))
        self.records[id(stage)] = record
        record.save_facts()
        record.save_content(StageContent(stage.program, tasks, connection, self.engine.task_settings().batch_rows))
        return record

"""Stages on record: what each stage that ran read and gave, so that it can be run again alone, in a debugger.

A record is a folder: `stage.json` says what ran and what came of it, `stage.pickle` holds program and tasks, and
Arrow streams hold what exchanges and broadcasts brought. Blocks with a durable copy, and files, are referred to.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from sharkpy import conf as settings
from sharkpy.columnar.handle import BlockHandle
from sharkpy.conf import Conf
from sharkpy.errors import CancelledError, ExecutionError, SharkError
from sharkpy.execution.connection import ConnectionSettings
from sharkpy.execution.frame_files import FrameBuffer
from sharkpy.execution.inputs import PAYLOAD_HEADER, TaskData
from sharkpy.execution.jobs import SparkJobs
from sharkpy.execution.report import BlockResult, FileResult, TaskReport
from sharkpy.execution.shipping import expected_versions
from sharkpy.execution.stage_runner import Stage, StageRunner
from sharkpy.execution.worker import payloads_by_exchange
from sharkpy.optimizer.replan.pack_buckets import Packed
from sharkpy.physical.distribution import ExchangeStatistics
from sharkpy.physical.stage import BroadcastColumns, ExchangeColumns, StageProgram, TaskInput
from sharkpy.physical.task_inputs import merged

_FACTS = "stage.json"
_PROGRAM = "stage.pickle"
_UNLIMITED = 1 << 62


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """What one task gave when it was recorded; a stage in the driver has one for all its parts."""

    task: int
    rows_in: int
    rows_out: int
    seconds: float
    error: str | None = None


@dataclass(frozen=True, slots=True)
class StageFacts:
    """What ran: readable without running anything."""

    number: int
    query: str
    label: str
    placement: str
    num_tasks: int
    sql: str
    versions: str
    settings: dict[str, str]
    outcomes: tuple[TaskOutcome, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class StageContent:
    """What a task runs on: pickled by Spark's serializer, for the same versions of the engine."""

    program: StageProgram
    tasks: tuple[TaskInput, ...]
    connection: ConnectionSettings
    batch_rows: int


@dataclass(slots=True)
class StageRecord:
    """One stage's folder while it is written. `room` is what may still be copied into it, in bytes."""

    folder: Path
    facts: StageFacts
    room: int
    kept: set[str] = field(default_factory=set)

    def save_facts(self) -> None:
        self.folder.joinpath(_FACTS).write_text(json.dumps(asdict(self.facts), indent=2))

    def save_content(self, content: StageContent) -> None:
        from pyspark.serializers import CPickleSerializer

        self.folder.joinpath(_PROGRAM).write_bytes(CPickleSerializer().dumps(content))  # type: ignore[no-untyped-call]
        for part in content.tasks:
            for _, handles in part.blocks:
                for handle in handles:
                    self._copy_block(handle)

    def save_payloads(self, task: int, payloads: Mapping[int, Sequence[pa.Buffer]]) -> None:
        """What exchanges bring to a task; a task whose payloads do not fit is recorded without them."""
        sizes = sum(len(payload) for arrived in payloads.values() for payload in arrived)
        folder = self.folder / f"task-{task}"
        if folder.is_dir() or not self._takes(sizes):
            return
        folder.mkdir()
        for exchange_id, arrived in payloads.items():
            for number, payload in enumerate(arrived):
                path = folder / f"exchange-{exchange_id}-{number}.arrows"
                path.write_bytes(payload.slice(PAYLOAD_HEADER))

    def save_broadcast(self, exchange_id: int, table: pa.Table) -> None:
        path = self.folder / f"broadcast-{exchange_id}.arrows"
        if not path.exists() and self._takes(table.nbytes):
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
                writer.write_table(table)

    def _copy_block(self, handle: BlockHandle) -> None:
        """Blocks that end with the session are copied, each once."""
        if handle.durable_path is None and handle.block_id not in self.kept and self._takes(handle.size_bytes):
            self.kept.add(handle.block_id)
            blocks = self.folder / "blocks"
            blocks.mkdir(exist_ok=True)
            shutil.copyfile(handle.memory_path, blocks / f"{handle.block_id}.arrow")

    def _takes(self, size: int) -> bool:
        if size > self.room:
            return False
        self.room -= size
        return True


class RecordingStageRunner(StageRunner):
    """Runs stages as they are run anyhow, and keeps a record of each under `shark.debug.record`."""

    def driver_batches(self, stage: Stage) -> Iterator[pa.RecordBatch]:
        with self._recorded(stage):
            yield from super().driver_batches(stage)

    def driver_results(self, stage: Stage, only_tasks: frozenset[int] | None = None) -> list[BlockResult | FileResult]:
        with self._recorded(stage):
            return super().driver_results(stage, only_tasks)

    def batches(
        self, stage: Stage, first_rows: int | None = None, exchange_id: int | None = None
    ) -> Generator[pa.RecordBatch]:
        with self._recorded(stage):
            yield from super().batches(stage, first_rows, exchange_id)

    def run_exchange(self, stage: Stage, exchange_id: int, num_buckets: int) -> ExchangeStatistics:
        with self._recorded(stage):
            return super().run_exchange(stage, exchange_id, num_buckets)

    def task_reports(self, stage: Stage, only_tasks: frozenset[int] | None = None) -> list[TaskReport]:
        with self._recorded(stage):
            return super().task_reports(stage, only_tasks)

    def _data(self, stage: Stage, part: TaskInput) -> TaskData:
        data = super()._data(stage, part)
        record = self._record(stage, "driver", stage.tasks, self._database.settings)
        task = next(number for number, known in enumerate(stage.tasks) if known is part)
        record.save_payloads(task, data.payloads)
        for exchange_id, table in data.broadcasts.items():
            record.save_broadcast(exchange_id, table)
        return data

    def _input_frames(self, jobs: SparkJobs, stage: Stage) -> tuple[Any, list[Packed]]:
        base, packed = super()._input_frames(jobs, stage)
        tasks = tuple(merged([stage.tasks[planned] for planned in task]) for task in packed)
        record = self._record(stage, "rdd", tasks, self.engine.task_settings().connection)
        if any(isinstance(spec, ExchangeColumns) for spec in stage.program.inputs):
            for task in range(len(tasks)):
                frames = map(bytes, jobs.collect(base, range(task, task + 1)))
                record.save_payloads(task, payloads_by_exchange(frames, FrameBuffer(_UNLIMITED, "")))
        for spec in stage.program.inputs:
            if isinstance(spec, BroadcastColumns):
                record.save_broadcast(spec.exchange_id, self._table(spec))
        return base, packed

    def _note(self, stage: Stage, placement: str, count: int, reports: Sequence[TaskReport], *rest: Any) -> None:
        if (record := self._records.get(id(stage))) is not None:
            record.facts = replace(record.facts, outcomes=tuple(map(_outcome, reports)))
            record.save_facts()
        super()._note(stage, placement, count, reports, *rest)

    @property
    def _records(self) -> dict[int, StageRecord]:
        """The records of the stages that run now, by the stage's identity."""
        known: dict[int, StageRecord] = self.__dict__.setdefault("records", {})
        return known

    def _record(
        self, stage: Stage, placement: str, tasks: tuple[TaskInput, ...], connection: ConnectionSettings
    ) -> StageRecord:
        """The stage's record, begun where there is none: a stage that is repaired runs more than once."""
        if (known := self._records.get(id(stage))) is not None:
            return known
        conf = self.engine.conf
        folder, number = _new_folder(Path(conf.value(settings.DEBUG_RECORD)))
        task = self.engine.task_settings()
        facts = StageFacts(
            number,
            self.description,
            stage.label,
            placement,
            len(tasks),
            stage.program.sql,
            expected_versions(),
            dict(conf.changes()),
        )
        record = StageRecord(folder, facts, conf.value(settings.DEBUG_RECORD_BYTES))
        self._records[id(stage)] = record
        record.save_facts()
        record.save_content(StageContent(stage.program, tasks, connection, task.batch_rows))
        return record

    @contextmanager
    def _recorded(self, stage: Stage) -> Iterator[None]:
        try:
            yield
        except SharkError as error:
            record = self._records.get(id(stage))
            if record is not None and not isinstance(error, CancelledError):
                record.facts = replace(record.facts, error=str(error))
                record.save_facts()
                command = f"sharkpy debug-stage {record.folder.parent} --stage {record.facts.number}"
                error.hint = "; ".join(filter(None, (error.hint, f"to run the stage alone: {command}")))
            raise
        finally:
            self._records.pop(id(stage), None)


def stage_runner_type(conf: Conf) -> type[StageRunner]:
    return RecordingStageRunner if conf.value(settings.DEBUG_RECORD) else StageRunner


def _new_folder(parent: Path) -> tuple[Path, int]:
    """The next numbered folder; several queries may record at once."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        taken = [int(folder.name) for folder in parent.iterdir() if folder.name.isdigit()]
        for number in itertools.count(max(taken, default=0) + 1):
            folder = parent / f"{number:04d}"
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            return folder, number
    except OSError as error:
        raise ExecutionError(f'cannot record stages in "{parent}": {error.strerror}', sqlstate="58030") from None
    raise AssertionError("numbers do not end")


def _outcome(report: TaskReport) -> TaskOutcome:
    error = None if report.error is None else str(report.error)
    return TaskOutcome(report.partition, report.rows_in, report.rows_out, report.seconds, error)


# Reading


def recorded_stages(parent: Path) -> list[StageFacts]:
    """The records of a folder in the order in which the stages began."""
    if not parent.is_dir():
        raise ExecutionError(f'"{parent}" is no folder of recorded stages', sqlstate="58030")
    folders = sorted(folder for folder in parent.iterdir() if folder.name.isdigit())
    return [_read_facts(folder) for folder in folders if (folder / _FACTS).is_file()]


def _read_facts(folder: Path) -> StageFacts:
    try:
        fields = json.loads((folder / _FACTS).read_text())
        outcomes = tuple(TaskOutcome(**outcome) for outcome in fields.pop("outcomes"))
        return StageFacts(**fields, outcomes=outcomes)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ExecutionError(f'"{folder}" is no recorded stage: {error}', sqlstate="58030") from None


def read_content(parent: Path, number: int) -> StageContent:
    from pyspark.serializers import CPickleSerializer

    path = parent / f"{number:04d}" / _PROGRAM
    try:
        content = CPickleSerializer().loads(path.read_bytes())  # type: ignore[no-untyped-call]
    except Exception as error:  # noqa: BLE001 - other versions of the classes fail in any way
        raise ExecutionError(f'cannot read "{path}": {error}', sqlstate="58030") from None
    if not isinstance(content, StageContent):
        raise ExecutionError(f'"{path}" is no recorded stage', sqlstate="58030")
    return content


def read_task(parent: Path, number: int, task: int, content: StageContent) -> TaskData:
    """All that a task read. ExecutionError where it was too large to be recorded."""
    folder = parent / f"{number:04d}"
    part = content.tasks[task] if task < len(content.tasks) else TaskInput()
    part = replace(part, blocks=_map_handles(part, lambda handle: _copied(handle, folder)))
    payloads, broadcasts = {}, {}
    for spec in content.program.inputs:
        match spec:
            case ExchangeColumns(_, exchange_id):
                if not (folder / f"task-{task}").is_dir():
                    raise _too_large(f"what exchanges brought to task {task}")
                payloads[exchange_id] = list(_read_payloads(folder / f"task-{task}", exchange_id))
            case BroadcastColumns(_, exchange_id):
                path = folder / f"broadcast-{exchange_id}.arrows"
                if not path.is_file():
                    raise _too_large(f"broadcast {exchange_id}")
                broadcasts[exchange_id] = pa.ipc.open_stream(path.read_bytes()).read_all()
    return TaskData(part, payloads, broadcasts, content.connection.decoded_limit)


def only_block(part: TaskInput, block_id: str) -> TaskInput:
    """`part` with the relations that have blocks whose id starts with `block_id` restricted to these."""
    found = False
    blocks = []
    for relation, handles in part.blocks:
        chosen = tuple(handle for handle in handles if handle.block_id.startswith(block_id))
        found |= bool(chosen)
        blocks.append((relation, chosen or handles))
    if not found:
        known = ", ".join(handle.block_id for _, handles in part.blocks for handle in handles) or "none"
        raise ExecutionError(f'the task has no block "{block_id}"; its blocks: {known}', sqlstate="42000")
    return replace(part, blocks=tuple(blocks))


def _map_handles(
    part: TaskInput, change: Callable[[BlockHandle], BlockHandle]
) -> tuple[tuple[str, tuple[BlockHandle, ...]], ...]:
    return tuple((relation, tuple(map(change, handles))) for relation, handles in part.blocks)


def _copied(handle: BlockHandle, folder: Path) -> BlockHandle:
    """The handle of the copy in the record, where there is one."""
    copy = folder / "blocks" / f"{handle.block_id}.arrow"
    return replace(handle, memory_path=str(copy), host="") if copy.is_file() else handle


def _read_payloads(folder: Path, exchange_id: int) -> Iterable[pa.Buffer]:
    prefix = f"exchange-{exchange_id}-"
    paths = [path for path in folder.iterdir() if path.name.startswith(prefix)]
    for path in sorted(paths, key=lambda path: int(path.stem.rpartition("-")[2])):
        yield pa.py_buffer(bytes(PAYLOAD_HEADER) + path.read_bytes())


def _too_large(what: str) -> ExecutionError:
    key = settings.DEBUG_RECORD_BYTES.key
    return ExecutionError(
        f"{what} was too large to be recorded", hint=f"raise {key} and record again", sqlstate="53000"
    )

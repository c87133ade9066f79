"""Records of stages: each one's inputs and results, so that one task can be rerun in a debugger.

A record is a folder. `stage.json` describes the stage and its outcome, `stage.pickle` has its program and tasks, and
Arrow streams have the payloads of exchanges and broadcasts. Files, and blocks with a durable copy, are only referred
to.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, field, replace
from pathlib import Path

import pyarrow as pa

from sharkpy.base import settings
from sharkpy.base.errors import ExecutionError
from sharkpy.base.records import dataclass
from sharkpy.columnar.handle import BlockHandle
from sharkpy.execution.tasks.inputs import TaskData, TaskMetrics
from sharkpy.execution.tasks.payloads import PAYLOAD_HEADER
from sharkpy.execution.tasks.report import TaskReport
from sharkpy.execution.tasks.sinks import Payload, SinkContext
from sharkpy.execution.tasks.task import run_task
from sharkpy.execution.workers.connection_pool import ConnectionPool, ConnectionSettings
from sharkpy.physical.stage_program import (
    BlockSink,
    BroadcastColumns,
    ExchangeColumns,
    FileSink,
    ResultSink,
    StageProgram,
    TaskInput,
)
from sharkpy.values.types import Schema

_FACTS = "stage.json"
_PROGRAM = "stage.pickle"


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """Figures and error of a recorded task. A stage in the driver has one outcome for all its tasks."""

    task: int
    rows_in: int
    rows_out: int
    seconds: float
    error: str | None = None


@dataclass(frozen=True, slots=True)
class StageFacts:
    """Description of a recorded stage, which can be read without running anything."""

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
    """Program and inputs of a recorded stage, pickled. Only the same versions can read it."""

    program: StageProgram
    tasks: tuple[TaskInput, ...]
    connection: ConnectionSettings
    batch_rows: int


@dataclass(slots=True)
class StageRecord:
    """Folder of one stage while it is written. `room` is the number of bytes that may still be copied into it."""

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
        """Save a task's exchange payloads. If they do not fit, the task is recorded without them."""
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
        """Copy a block that ends with the session, once."""
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


def new_folder(parent: Path) -> tuple[Path, int]:
    """Make the next numbered folder; several queries may record at the same time."""
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


def outcome(report: TaskReport) -> TaskOutcome:
    error = None if report.error is None else str(report.error)
    return TaskOutcome(report.partition, report.rows_in, report.rows_out, report.seconds, error)


# Reading


def recorded_stages(parent: Path) -> list[StageFacts]:
    """Return the records in a folder, in the order in which the stages began."""
    if not parent.is_dir():
        raise ExecutionError(f'"{parent}" is not a folder of recorded stages', sqlstate="58030")
    folders = sorted(folder for folder in parent.iterdir() if folder.name.isdigit())
    return [_read_facts(folder) for folder in folders if (folder / _FACTS).is_file()]


def _read_facts(folder: Path) -> StageFacts:
    try:
        fields = json.loads((folder / _FACTS).read_text())
        outcomes = tuple(TaskOutcome(**outcome) for outcome in fields.pop("outcomes"))
        return StageFacts(**fields, outcomes=outcomes)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ExecutionError(f'"{folder}" is not a recorded stage: {error}', sqlstate="58030") from None


def read_content(parent: Path, number: int) -> StageContent:
    from pyspark.serializers import CPickleSerializer

    path = parent / f"{number:04d}" / _PROGRAM
    try:
        content = CPickleSerializer().loads(path.read_bytes())  # type: ignore[no-untyped-call]
    except Exception as error:  # noqa: BLE001 - other versions of the classes may raise anything
        raise ExecutionError(f'cannot read "{path}": {error}', sqlstate="58030") from None
    if not isinstance(content, StageContent):
        raise ExecutionError(f'"{path}" is not a recorded stage', sqlstate="58030")
    return content


def read_task(parent: Path, number: int, task: int, content: StageContent) -> TaskData:
    """Return a task's inputs; raise ExecutionError if they were too large to be recorded."""
    folder = parent / f"{number:04d}"
    part = content.tasks[task] if task < len(content.tasks) else TaskInput()
    part = replace(part, blocks=_map_handles(part, lambda handle: _copied(handle, folder)))
    payloads, broadcasts = {}, {}
    for spec in content.program.data_inputs:
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
    """Restrict `part` to the blocks whose id starts with `block_id`, in relations that have any."""
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
    """Return the handle of the block's copy in the record, if there is one."""
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


@dataclass(frozen=True, slots=True)
class Rerun:
    """Rows and figures of a rerun task."""

    schema: Schema
    batches: tuple[pa.RecordBatch, ...]
    rows_in: int
    rows_out: int
    seconds: float


def rerun_task(
    folder: Path, stage: int, task: int, block_id: str | None = None, before: Callable[[], None] = lambda: None
) -> Rerun:
    """Run a recorded task with its recorded inputs, and raise its error.

    `before` is called when everything is ready. Blocks and files are computed, not stored.
    """
    content = read_content(folder, stage)
    data = read_task(folder, stage, task, content)
    if block_id is not None:
        data = replace(data, part=only_block(data.part, block_id))
    program = content.program
    if isinstance(program.sink, (BlockSink, FileSink)):
        program = replace(program, sink=ResultSink())
    metrics = TaskMetrics()
    batches: list[pa.RecordBatch] = []
    with tempfile.TemporaryDirectory(prefix=f"sharkpy-{os.getpid()}-") as spilled:
        pool = ConnectionPool(replace(content.connection.on_this_host(), temp_directory=spilled))
        try:
            data = replace(data, connections=lambda _: pool.borrow())
            with pool.borrow() as connection:
                before()
                start = time.perf_counter()
                for output in run_task(program, data, connection, SinkContext(task), metrics, content.batch_rows):
                    if isinstance(output, Payload):
                        batches += pa.ipc.open_stream(output.data.slice(PAYLOAD_HEADER))
                seconds = time.perf_counter() - start
        finally:
            pool.close()
    return Rerun(program.output, tuple(batches), metrics.rows_in, metrics.rows_out, seconds)

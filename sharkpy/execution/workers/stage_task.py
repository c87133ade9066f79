"""Function that Spark runs for each partition: frames in, frames out, a report at the end.

Input frames are the payloads of exchanges. Output frames are raw bytes, without pickling: for an exchange, bucket (8
bytes, big endian) and payload alternate; otherwise there are only payloads.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import CorruptionError, InternalError, SharkError
from sharkpy.base.records import dataclass
from sharkpy.columnar.block_cache import column_cache
from sharkpy.columnar.host import is_same_host
from sharkpy.execution.tasks.block_rebuild import RebuildInTask
from sharkpy.execution.tasks.error_conversion import as_shark_error
from sharkpy.execution.tasks.inputs import TaskData, TaskMetrics
from sharkpy.execution.tasks.payloads import PAYLOAD_HEADER, payload_exchange, payload_order
from sharkpy.execution.tasks.report import BlockResult, FileResult, TaskReport
from sharkpy.execution.tasks.sinks import Payload, SinkContext
from sharkpy.execution.tasks.task import run_task, task_batches
from sharkpy.execution.workers.connection_pool import ConnectionPool, ConnectionSettings, process_pool
from sharkpy.execution.workers.frames import (
    REPORTED_BYTES,
    BroadcastSource,
    FrameBuffer,
    FrameList,
    load_broadcast,
    send_frame,
)
from sharkpy.execution.workers.task_failure import TaskError, ending_with_job, receives_reports
from sharkpy.physical.stage_program import GivenColumns, StageProgram, TaskInput
from sharkpy.sources.storage.access import ACCESSES, StorageAccess
from sharkpy.sources.storage.fetched_files import FETCHED
from sharkpy.sources.storage.meter import METER


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """Settings shared by all tasks of a session."""

    connection: ConnectionSettings
    batch_rows: int
    block_bytes: int
    force_encoding: str
    writer: Any = None
    scan_cache_bytes: int = 0
    """Limit on the decoded bytes that the process caches between tasks."""
    is_profiled: bool = False
    """True if DuckDB measures each operator."""
    results_dir: str = ""
    """Folder for large frames to the driver; "" if they go through Spark."""
    recipes_dir: str = ""
    """Folder with the recipes for rebuilding blocks; "" if the driver rebuilds them."""
    accesses: tuple[StorageAccess, ...] = ()
    """Accesses to the storage that the stage reads and writes, and to no other."""


@dataclass(frozen=True, slots=True)
class StageTask:
    """Picklable function of a stage, called with the partition's number and its input frames."""

    run_id: int
    program: StageProgram
    parts: tuple[bytes, ...]
    """Pickled TaskInputs by partition; further partitions have none."""
    broadcasts: tuple[tuple[int, BroadcastSource], ...]
    exchange_id: int | None
    """Exchange that the stage writes; None if its frames go to the driver."""
    settings: TaskSettings
    stop_dir: str = ""
    """Folder in which a file ends a job's tasks: see `stop_file`."""
    reports: Any = None
    """Spark accumulator for the report. A failed task reports its error instead of failing: no retry, no Java trace.

    Small frames for the driver come with the report, which saves a connection to the JVM.
    """

    def __call__(self, partition: int, frames: Iterable[Any]) -> Iterator[Any]:
        """Run the task. `frames` are an RDD's own elements if the program reads given rows."""
        with ending_with_job(self.stop_dir) as statement:
            yield from self._run(partition, frames, statement)

    def _run(self, partition: int, frames: Iterable[Any], statement: Cancellation) -> Iterator[Any]:
        start, cpu_start, asked = time.perf_counter(), time.process_time(), METER.total
        metrics = TaskMetrics(is_profiled=self.settings.is_profiled)
        results: list[BlockResult | FileResult] = []
        is_reported, error = receives_reports(self.run_id), None
        reported = FrameList(REPORTED_BYTES if is_reported and self.exchange_id is None else 0)
        try:
            for output in self._outputs(partition, frames, metrics, statement):
                if not isinstance(output, Payload):
                    results.append(output)
                    continue
                metrics.bytes_out += len(output.data)
                if self.exchange_id is not None:
                    yield struct.pack("!q", output.bucket)
                    yield output.data
                else:
                    frame = send_frame(output.data, self.settings.results_dir, f"{self.run_id}-")
                    yield from reported.add(frame)
        except Exception as failure:  # noqa: BLE001 - the driver gets any error
            error = as_shark_error(failure)
            self._drop_damaged(partition, error)
            if not is_reported:
                # Without its output, rows would be missing in another stage.
                raise TaskError(error) from None
        seconds = time.perf_counter() - start
        metrics.cpu_seconds = time.process_time() - cpu_start
        report = _report(self.run_id, partition, metrics, seconds, tuple(results), error)
        self.reports.add([replace(report, requested=METER.total - asked, frames=reported.frames)])

    def batches(self, partition: int, frames: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
        """Yield the task's rows to Python code in the same process. A failure is raised as a SharkError."""
        metrics = TaskMetrics()
        try:
            with ending_with_job(self.stop_dir) as statement:
                part, pool = self._part(partition)
                data = self._data(partition, part, frames, metrics, statement, pool)
                rows = self.settings.batch_rows
                with (
                    pool.borrow(statement) as connection,
                    task_batches(self.program, data, connection, metrics, rows) as found,
                ):
                    yield from found
        except Exception as failure:
            error = as_shark_error(failure)
            self._drop_damaged(partition, error)
            raise error from failure

    def _drop_damaged(self, partition: int, error: SharkError) -> None:
        """Remove a damaged block from this host's memory, unless the host is the driver's.

        Its copy is then read instead.
        """
        if isinstance(error, CorruptionError) and error.block_id is not None:
            from sharkpy.columnar.block_writer import drop_from_memory

            for _, handles in _load_part(self.parts, partition).blocks:
                for handle in handles:
                    if handle.block_id == error.block_id and handle.host and is_same_host(handle.host):
                        drop_from_memory(handle.memory_path)

    def _outputs(
        self, partition: int, frames: Iterable[Any], metrics: TaskMetrics, statement: Cancellation
    ) -> Iterator[Payload | BlockResult | FileResult]:
        part, pool = self._part(partition)
        data = self._data(partition, part, frames, metrics, statement, pool)
        header = partition if self.exchange_id is None else self.exchange_id
        settings, temp_dir = self.settings, str(Path(pool.settings.temp_directory).parent)
        context = SinkContext(
            partition, header, settings.writer, settings.block_bytes, settings.force_encoding, temp_dir
        )
        with pool.borrow(statement) as connection:
            yield from run_task(self.program, data, connection, context, metrics, self.settings.batch_rows)

    def _part(self, partition: int) -> tuple[TaskInput, ConnectionPool]:
        """Return the task's part of the data, and the connections for the program over it."""
        part = _load_part(self.parts, partition)
        return part, process_pool(self.settings.connection).suited_to(self.program, part)

    def _data(
        self,
        partition: int,
        part: TaskInput,
        frames: Iterable[Any],
        metrics: TaskMetrics,
        statement: Cancellation,
        pool: ConnectionPool,
    ) -> TaskData:
        column_cache().limit = self.settings.scan_cache_bytes
        ACCESSES.note(self.settings.accesses)
        if self.settings.accesses and self.settings.results_dir:
            FETCHED.use_folder(str(Path(self.settings.results_dir).parent))
        given = {spec.relation: frames for spec in self.program.data_inputs if isinstance(spec, GivenColumns)}
        buffer = FrameBuffer(pool.settings.decoded_limit, pool.settings.temp_directory)
        return TaskData(
            part=part,
            payloads={} if given else payloads_by_exchange(frames, buffer),
            broadcasts={exchange_id: load_broadcast(source) for exchange_id, source in self.broadcasts},
            decoded_limit=pool.settings.decoded_limit,
            threads=pool.settings.threads,
            rebuild=self._rebuild(metrics),
            connections=lambda _: pool.borrow(statement),
            statement=statement,
            given=given,
            number=partition,
        )

    def _rebuild(self, metrics: TaskMetrics) -> RebuildInTask | None:
        folder = self.settings.recipes_dir
        return RebuildInTask(folder, self.settings.force_encoding, metrics) if folder else None


def _load_part(parts: tuple[bytes, ...], partition: int) -> TaskInput:
    from pyspark.serializers import CPickleSerializer

    if partition >= len(parts):
        return TaskInput()
    part = CPickleSerializer().loads(parts[partition])  # type: ignore[no-untyped-call]
    if not isinstance(part, TaskInput):
        raise InternalError(f"a task got {type(part).__name__} for its part of the data")
    return part


def payloads_by_exchange(frames: Iterable[bytes], buffer: FrameBuffer) -> dict[int, list[pa.Buffer]]:
    """Group payloads by the exchange in their header. Shorter frames only make a partition exist."""
    payloads: dict[int, list[tuple[int, pa.Buffer]]] = defaultdict(list)
    with contextlib.closing(buffer):
        for frame in frames:
            if len(frame) > PAYLOAD_HEADER:
                buffer.append(frame)
        for payload in buffer.frames():
            (header,) = struct.unpack_from("<q", payload)
            payloads[payload_exchange(header)].append((payload_order(header), payload))
    # They arrive in any order, which must not affect the task's output.
    in_order = {one: sorted(found, key=lambda item: item[0]) for one, found in payloads.items()}
    return {one: [payload for _, payload in found] for one, found in in_order.items()}


def _report(
    run_id: int,
    partition: int,
    metrics: TaskMetrics,
    seconds: float,
    results: tuple[BlockResult | FileResult, ...],
    error: Any,
) -> TaskReport:
    return TaskReport(
        run_id,
        partition,
        metrics.rows_in,
        metrics.rows_out,
        metrics.bytes_out,
        seconds,
        metrics.read,
        results,
        error,
        tuple(metrics.operators),
        metrics.collected,
        cpu_seconds=metrics.cpu_seconds,
        blocks_local=metrics.blocks_local,
        blocks_remote=metrics.blocks_remote,
        blocks_rebuilt=metrics.blocks_rebuilt,
        rows_exchanged=metrics.rows_exchanged,
        bytes_spilled=metrics.bytes_spilled if metrics.is_profiled else None,
        ended=time.time(),
        worker=f"{socket.gethostname()}:{os.getpid()}",
        attempt=_attempt(),
    )


def _attempt() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else context.attemptNumber()

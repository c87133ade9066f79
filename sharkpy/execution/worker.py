"""The function that Spark runs for each partition: frames in, frames out, a report at the end.

Input frames are the payloads of exchanges. Output frames are raw bytes, with no pickling: for an exchange
the bucket (8 bytes, big endian) and the payload in turn, else payloads alone.
"""

from __future__ import annotations

import struct
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sharkpy.columnar.column_cache import column_cache
from sharkpy.errors import InternalError
from sharkpy.execution.broadcast import BroadcastSource, load_broadcast
from sharkpy.execution.connection import ConnectionSettings, process_pool
from sharkpy.execution.failure import as_shark_error
from sharkpy.execution.inputs import PAYLOAD_HEADER, TaskData, TaskMetrics
from sharkpy.execution.report import BlockResult, FileResult, TaskReport
from sharkpy.execution.sinks import Payload, SinkContext
from sharkpy.execution.task import run_task
from sharkpy.physical.stage import StageProgram, TaskInput


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """What every task of a session shares."""

    connection: ConnectionSettings
    batch_rows: int
    block_bytes: int
    force_encoding: str
    writer: Any = None
    scan_cache_bytes: int = 0
    """Bytes of decoded columns that the process keeps between tasks."""
    is_profiled: bool = False
    """DuckDB is to measure each operator."""


@dataclass(frozen=True, slots=True)
class StageTask:
    """The picklable function of a stage: called with the partition's number and its input frames."""

    run_id: int
    program: StageProgram
    parts: tuple[bytes, ...]
    """Pickled TaskInputs by partition; partitions beyond them have none."""
    broadcasts: tuple[tuple[int, BroadcastSource], ...]
    exchange_id: int | None
    """The exchange that the stage writes; None: its frames go to the driver."""
    settings: TaskSettings
    reports: Any = None
    """Spark accumulator for the report. A failed task reports its error instead of failing: no retry, no Java trace."""

    def __call__(self, partition: int, frames: Iterable[bytes]) -> Iterator[Any]:
        start = time.perf_counter()
        metrics = TaskMetrics(is_profiled=self.settings.is_profiled)
        results: list[BlockResult | FileResult] = []
        error = None
        try:
            for output in self._outputs(partition, frames, metrics):
                if not isinstance(output, Payload):
                    results.append(output)
                    continue
                metrics.bytes_out += len(output.data)
                if self.exchange_id is not None:
                    yield struct.pack("!q", output.bucket)
                yield output.data
        except Exception as failure:  # noqa: BLE001 - whatever it was, the driver must learn of it
            error = as_shark_error(failure)
        seconds = time.perf_counter() - start
        self.reports.add([_report(self.run_id, partition, metrics, seconds, tuple(results), error)])

    def _outputs(
        self, partition: int, frames: Iterable[bytes], metrics: TaskMetrics
    ) -> Iterator[Payload | BlockResult | FileResult]:
        data = TaskData(
            part=_load_part(self.parts, partition),
            payloads=_payloads_by_exchange(frames),
            broadcasts={exchange_id: load_broadcast(source) for exchange_id, source in self.broadcasts},
        )
        header = partition if self.exchange_id is None else self.exchange_id
        context = SinkContext(
            partition, header, self.settings.writer, self.settings.block_bytes, self.settings.force_encoding
        )
        column_cache().limit = self.settings.scan_cache_bytes
        with process_pool(self.settings.connection).borrow() as connection:
            yield from run_task(self.program, data, connection, context, metrics, self.settings.batch_rows)


def _load_part(parts: tuple[bytes, ...], partition: int) -> TaskInput:
    from pyspark.serializers import CPickleSerializer

    if partition >= len(parts):
        return TaskInput()
    part = CPickleSerializer().loads(parts[partition])  # type: ignore[no-untyped-call]
    if not isinstance(part, TaskInput):
        raise InternalError(f"a task got {type(part).__name__} for its part of the data")
    return part


def _payloads_by_exchange(frames: Iterable[bytes]) -> dict[int, list[pa.Buffer]]:
    """Payloads by the exchange that their header names; shorter frames only make a partition exist."""
    payloads: dict[int, list[pa.Buffer]] = defaultdict(list)
    for frame in frames:
        if len(frame) > PAYLOAD_HEADER:
            (exchange_id,) = struct.unpack_from("<q", frame)
            payloads[exchange_id].append(pa.py_buffer(frame))
    return payloads


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
    )

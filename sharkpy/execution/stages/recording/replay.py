"""Rerun of one task of a recorded stage in this process."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from sharkpy.execution.stages.recording.stage_record import only_block, read_content, read_task
from sharkpy.execution.tasks.inputs import PAYLOAD_HEADER, TaskMetrics
from sharkpy.execution.tasks.sinks import Payload, SinkContext
from sharkpy.execution.tasks.task import run_task
from sharkpy.execution.workers.connection_pool import ConnectionPool
from sharkpy.physical.sinks import BlockSink, FileSink, ResultSink
from sharkpy.values.types import Schema


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

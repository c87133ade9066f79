"""Outputs of a query's stages: exchanges and broadcasts, until the query ends.

Rows in the driver are in memory if they are few, else in a mapped file.
"""

from __future__ import annotations

import itertools
import struct
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from sharkpy.base.errors import InternalError
from sharkpy.execution.spark.jobs import SparkJobs
from sharkpy.execution.stages.exchange import DriverOutput, ExchangeInput, ExchangeOutput, collect_payloads, release
from sharkpy.execution.stages.query_run import QueryRun
from sharkpy.execution.tasks.error_conversion import as_shark_error
from sharkpy.execution.tasks.sinks import encode_payload, windows
from sharkpy.execution.workers.frames import (
    BroadcastSource,
    broadcast_table,
    drop_broadcast,
    map_once,
    send_broadcast,
    write_stream,
)
from sharkpy.physical.plan import ExchangeStatistics
from sharkpy.physical.stage import Stage
from sharkpy.physical.stage_program import BroadcastColumns, ExchangeColumns
from sharkpy.values.types import Schema, arrow_schema


class StageOutputs:
    """Outputs of the finished stages by exchange, in Spark's shuffle or held in this process."""

    def __init__(self, run: QueryRun) -> None:
        self._run = run
        self._outputs: dict[int, ExchangeOutput] = {}
        self._tables: dict[int, pa.Table] = {}
        self._sources: dict[tuple[int, tuple[str, ...]], BroadcastSource] = {}
        """Sources by exchange and the names that a stage has for its columns."""
        self._jobs: SparkJobs | None = None
        """Jobs that made the shuffles. After a restart of Spark, other shuffles have their numbers."""

    def add(self, output: ExchangeOutput) -> None:
        if not isinstance(output, DriverOutput):
            self._jobs = self._run.engine.jobs
        self._outputs[output.exchange_id] = output

    def hold(self, schema: Schema, exchange_id: int, batches: Iterable[pa.RecordBatch]) -> ExchangeStatistics:
        """Hold rows in the driver as the output of an exchange, in a file if there are many."""
        try:
            payload, rows = buffer_rows(exchange_id, arrow_schema(schema), batches, self._run.engine.scratch)
        except OSError as error:
            raise as_shark_error(error) from error
        output = DriverOutput(exchange_id, (payload,))
        self.add(output)
        self._check_held()
        return ExchangeStatistics(rows, output.bytes_per_bucket)

    def is_held(self, exchange_id: int) -> bool:
        """Whether the exchange's rows are held in the driver."""
        return isinstance(self._outputs.get(exchange_id), DriverOutput)

    def exchange_inputs(self, stage: Stage) -> list[ExchangeInput]:
        """Return the outputs that the stage reads bucket by bucket."""
        ids = dict.fromkeys(spec.exchange_id for spec in stage.program.data_inputs if isinstance(spec, ExchangeColumns))
        single = len(stage.tasks) == 1
        dealt = dict(stage.dealt)
        return [ExchangeInput(self._output(one), single or one in stage.singles, dealt.get(one)) for one in ids]

    def payloads(self, exchange_id: int) -> list[pa.Buffer]:
        """Return all payloads of the exchange, in this process."""
        output = self._output(exchange_id)
        if isinstance(output, DriverOutput):
            return list(output.payloads)
        return collect_payloads(self._run.engine.jobs, output)

    def table(self, spec: BroadcastColumns) -> pa.Table:
        return self.whole(spec.exchange_id, spec.schema)

    def whole(self, exchange_id: int, schema: Schema) -> pa.Table:
        """Return all rows of an exchange that tasks read whole; fetched once."""
        if exchange_id not in self._tables:
            self._tables[exchange_id] = broadcast_table(self.payloads(exchange_id), arrow_schema(schema))
        # Readers of one exchange may have names of their own for its columns.
        return self._tables[exchange_id].rename_columns(list(schema.names))

    def source(self, jobs: SparkJobs, spec: BroadcastColumns) -> BroadcastSource:
        """Return the source from which tasks read a broadcast; sent once."""
        key = spec.exchange_id, tuple(spec.schema.names)
        if key not in self._sources:
            engine = self._run.engine
            try:
                source = send_broadcast(self.table(spec), engine.scratch, engine.is_local, jobs.context)
            except OSError as error:
                raise as_shark_error(error) from error
            self._sources[key] = source
        return self._sources[key]

    def close(self) -> None:
        """Free the exchanges and broadcasts. Idempotent."""
        for source in self._sources.values():
            drop_broadcast(source)
        if self._jobs is not None and self._run.engine.runs(self._jobs):
            release(self._jobs, self._outputs.values())
        self._sources, self._outputs, self._tables = {}, {}, {}

    def _output(self, exchange_id: int) -> ExchangeOutput:
        if exchange_id not in self._outputs:
            raise InternalError(f"exchange {exchange_id} was read before it was written")
        return self._outputs[exchange_id]

    def _check_held(self) -> None:
        """Raise ResourceError if the query holds more rows here than its limit allows."""
        limit = self._run.memory_limit
        held = sum(output.bytes_per_bucket[0] for output in self._outputs.values() if isinstance(output, DriverOutput))
        if limit and held > limit:
            raise self._run.out_of_memory(f"the query holds {held:,} bytes of rows in the driver")


BUFFERED_BYTES = 64 << 20
"""Bytes of rows above which they are written to a file."""


def buffer_rows(
    exchange_id: int, schema: pa.Schema, batches: Iterable[pa.RecordBatch], folder: Path
) -> tuple[pa.Buffer, int]:
    """Return the payload of all `batches`, and its number of rows."""
    counter = _Counter(batches)
    stream = windows(counter, BUFFERED_BYTES)
    window = next(stream, [])
    more = next(stream, None)
    if more is None:
        return encode_payload(exchange_id, schema, window), counter.rows
    path = folder / f"held-{uuid.uuid4().hex}"
    rest = itertools.chain.from_iterable(itertools.chain([window, more], stream))
    write_stream(path, struct.pack("<q", exchange_id), schema, rest)
    return map_once(path), counter.rows


class _Counter:
    """Iterable that counts the rows of its batches."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self.rows = 0
        self._batches = batches

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            self.rows += batch.num_rows
            yield batch

"""Broadcast build sides, read whole by each task: sent with the task, mapped from a file, or broadcast by Spark."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from sharkpy.base.errors import InternalError
from sharkpy.execution.tasks.inputs import read_payloads
from sharkpy.execution.workers.frame_files import write_stream

INLINE_BYTES = 32 << 10
_CACHED_BYTES = 256 << 20
"""Limit on the bytes of broadcasts that a process caches for later tasks."""


@dataclass(frozen=True, slots=True)
class BroadcastSource:
    """Source of broadcast rows for a task: one of `data` (an Arrow stream), `path` (a file to map) or `spark`."""

    key: str
    data: bytes | None = None
    path: str | None = None
    spark: Any = None
    """Broadcast of pyspark with an Arrow stream as value."""


def broadcast_table(payloads: Sequence[pa.Buffer], schema: pa.Schema) -> pa.Table:
    """Return the rows of the collected payloads."""
    return read_payloads(payloads, schema)


def send_broadcast(table: pa.Table, folder: Path, is_local: bool, context: Any) -> BroadcastSource:
    """Make `table` readable by tasks; `folder` is visible to them if `is_local`."""
    key = uuid.uuid4().hex
    if is_local and table.nbytes > INLINE_BYTES:
        path = folder / f"broadcast-{key}.arrow"
        write_stream(path, b"", table.schema, table.to_batches())
        return BroadcastSource(key, path=str(path))
    data = _stream(table)
    if data.size <= INLINE_BYTES:
        return BroadcastSource(key, data=data.to_pybytes())
    return BroadcastSource(key, spark=context.broadcast(data.to_pybytes()))


def drop_broadcast(source: BroadcastSource) -> None:
    """Free a broadcast; tasks that have mapped its file keep it."""
    if source.path is not None:
        Path(source.path).unlink(missing_ok=True)
    if source.spark is not None:
        source.spark.destroy()


_loaded: OrderedDict[str, pa.Table] = OrderedDict()


def load_broadcast(source: BroadcastSource) -> pa.Table:
    """Return the table of `source`, cached in this process for the query's other tasks."""
    table = _loaded.get(source.key)
    if table is None:
        table = _open(source)
        _loaded[source.key] = table
        while len(_loaded) > 1 and sum(kept.nbytes for kept in _loaded.values()) > _CACHED_BYTES:
            _loaded.popitem(last=False)
    return table


def _open(source: BroadcastSource) -> pa.Table:
    if source.data is not None:
        return pa.ipc.open_stream(source.data).read_all()
    if source.path is not None:
        with pa.memory_map(source.path) as file:
            return pa.ipc.open_stream(file).read_all()
    if source.spark is not None:
        return pa.ipc.open_stream(source.spark.value).read_all()
    raise InternalError("a broadcast without rows")


def _stream(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()

"""New data files of a task: each is written on this machine, and gets its name when it is whole."""

from __future__ import annotations

import itertools
import os
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from sharkpy.base import uri
from sharkpy.execution.tasks.report import FileResult
from sharkpy.physical.sinks import FileSink
from sharkpy.sources.failures import io_error
from sharkpy.values.types import arrow_schema

if TYPE_CHECKING:
    from sharkpy.sources.storage.store import Store

Rows = Iterator[pa.RecordBatch]
MOST_BYTES = 1 << 30
"""Arrow bytes of the rows of a remote file: more are several files, so that a task needs the disk for one of them."""


def write_file(
    batches: Iterable[pa.RecordBatch], sink: FileSink, name: str, temp_dir: str = ""
) -> Iterator[FileResult]:
    """Write rows to the file `name`, or to several where they are remote; without rows there is none.

    The folder exists while the statement runs: a task that outlives it must not make it anew. Remote files are written
    below `temp_dir`, by default the system's, and have names of their own in each attempt.
    """
    from sharkpy.sources.registry import file_suffix

    schema = arrow_schema(sink.schema)
    filled = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in batches if batch.num_rows)
    first = next(filled, None)
    suffix = file_suffix(sink.format, sink.properties)
    if first is None:
        return
    if uri.is_remote(sink.directory):
        yield from _put_files(first, filled, sink, f"{name}-{uuid.uuid4().hex}", suffix, temp_dir)
    else:
        yield _local_file(itertools.chain([first], filled), sink, name, suffix)


def _local_file(rows: Rows, sink: FileSink, name: str, suffix: str) -> FileResult:
    folder = Path(sink.directory)
    path = folder / f"{name}{suffix}"
    # A name of its own for each attempt: two of them may run at once.
    attempt = folder / f".{name}-{uuid.uuid4().hex}{suffix}"
    try:
        num_rows = _write(rows, sink, attempt, lambda: attempt.replace(path))
    except BaseException:
        attempt.unlink(missing_ok=True)
        raise
    return FileResult(str(path), num_rows, path.stat().st_size)


def _put_files(
    first: pa.RecordBatch, rest: Rows, sink: FileSink, name: str, suffix: str, temp_dir: str
) -> Iterator[FileResult]:
    """Put the rows into the store as one object, or as several; one of them is on this machine's disk at a time."""
    from sharkpy.sources.local_copy import store_with

    store = store_with(sink.directory, sink.access)
    number = 0
    following: pa.RecordBatch | None = first
    while following is not None:
        path = uri.join(sink.directory, f"{name}-{number:04d}{suffix}")
        yield _put_file(_up_to(MOST_BYTES, following, rest), sink, path, store, temp_dir)
        number, following = number + 1, next(rest, None)


def _put_file(rows: Rows, sink: FileSink, path: str, store: Store, temp_dir: str) -> FileResult:
    try:
        with tempfile.TemporaryDirectory(prefix=f"sharkpy-{os.getpid()}-", dir=temp_dir or None) as folder:
            attempt = Path(folder, uri.name_of(path))
            num_rows = _write(rows, sink, attempt, lambda: None)
            with open(attempt, "rb") as file:
                facts = store.put(path, file)
    except OSError as error:
        raise io_error(error, temp_dir) from None
    return FileResult(path, num_rows, facts.size_bytes, facts.modified_ns, facts.tag)


def _write(rows: Rows, sink: FileSink, attempt: Path, place: Callable[[], object]) -> int:
    """Write a file under the name of an attempt and put it in place; returns its rows."""
    from sharkpy.sources.parquet import ParquetSource
    from sharkpy.sources.registry import source
    from sharkpy.sources.written_rows import kept_of

    writer, kept = source(sink.format), kept_of(sink.directory)
    file = None if kept is None else kept.begin_file()
    try:
        if file is not None and isinstance(writer, ParquetSource):
            num_rows = writer.write(rows, sink.schema, sink.properties, str(attempt), file.add)
            file.end(attempt)
        else:
            num_rows = writer.write(rows, sink.schema, sink.properties, str(attempt))
        place()
    except BaseException:
        if file is not None:
            file.drop()
        raise
    return num_rows


def _up_to(most_bytes: int, first: pa.RecordBatch, rest: Rows) -> Rows:
    """Rows from the first ones on, until they have so many bytes."""
    size = 0
    batch: pa.RecordBatch | None = first
    while batch is not None:
        yield batch
        size += batch.get_total_buffer_size()
        batch = next(rest, None) if size < most_bytes else None

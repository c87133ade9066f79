"""New data files of a task: each is written on this machine, and gets its name when complete."""

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
from sharkpy.sources.file_errors import io_error
from sharkpy.values.types import arrow_schema

if TYPE_CHECKING:
    from sharkpy.sources.storage.store import Store

Rows = Iterator[pa.RecordBatch]
MOST_BYTES = 1 << 30
"""Arrow bytes above which rows go to another remote file, so that a task needs disk space for only one."""


def write_file(
    batches: Iterable[pa.RecordBatch], sink: FileSink, name: str, temp_dir: str = ""
) -> Iterator[FileResult]:
    """Write rows to the file `name`, or to several remote ones. Without rows, no file is written.

    The folder exists while the statement runs; a task that outlives it must not recreate it. Remote files are written
    in `temp_dir` first (default: the system's), and have distinct names in each attempt.
    """
    from sharkpy.sources.formats import file_suffix

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
    # A distinct name for each attempt, as two of them may run at once.
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
    """Upload the rows as one or more objects. Only one of them is on this machine's disk at a time."""
    from sharkpy.sources.open_files import store_for_access

    store = store_for_access(sink.directory, sink.access)
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
    """Write a file under a temporary name, call `place`, and return the number of rows."""
    from sharkpy.sources.formats import source
    from sharkpy.sources.new_files import rows_cache
    from sharkpy.sources.parquet import ParquetSource

    writer, kept = source(sink.format), rows_cache(sink.directory)
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
    """Yield `first` and further batches until they have `most_bytes`."""
    size = 0
    batch: pa.RecordBatch | None = first
    while batch is not None:
        yield batch
        size += batch.get_total_buffer_size()
        batch = next(rest, None) if size < most_bytes else None

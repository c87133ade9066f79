"""Streams of a table's appended rows: the files of each write are linked into the streams' folders."""

from __future__ import annotations

import errno
import shutil
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.records import dataclass
from sharkpy.catalog.folder_readers import wanted_name
from sharkpy.catalog.json_rows import partition_format_from_text, partition_format_to_text
from sharkpy.catalog.path_gate import local_path
from sharkpy.catalog.stream_kinds import has_spans
from sharkpy.catalog.stream_store import REWRITE, StreamFile
from sharkpy.sources import staged_files
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.layout import numbered_name

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.model import Table
    from sharkpy.sources.layout import DataFile


@dataclass(slots=True)
class TableFeed:
    """Items that one write adds to the streams of a table's appended rows, inside the transaction that commits it.

    1. Each added file is an item of each stream. Local files are hard-linked, so they stay until the stream has read
       them, whatever happens to the table. Remote files keep their names, and their removal waits for the stream
       (`wanted_files`).
    2. Streams of windows closed by a watermark get nothing here: see `sharkpy.streaming.sources.closed_windows`.
       Streams WITH CHANGES read the table's history.
    3. Replaced or removed rows are not items; a mark says that rows were rewritten. Rows written into an empty table or
       Hive partition are always added.
    """

    table: Table
    catalog: Catalog
    is_rewritten: bool = False
    """True if rows of the table were replaced or removed."""
    _files: list[DataFile] = field(default_factory=list)
    _streams: list[Table] | None = None
    _folders: list[Path] = field(default_factory=list)
    """Folders of hard links; no reader sees them before the transaction commits."""

    @property
    def streams(self) -> list[Table]:
        if self._streams is None:
            found = map(self.catalog.current_table, self.catalog.streams.fed_by(self.table.table_id))
            self._streams = [stream for stream in found if stream is not None and not stream.follows_changes]
        return self._streams

    @property
    def is_wanted(self) -> bool:
        """True if the table has streams of its appended rows."""
        return bool(self.streams)

    def add_files(self, files: Iterable[DataFile], partition: str = "", form: str = "") -> None:
        """Add the files of a new generation, of a Hive partition if the table is partitioned."""
        self._files += [replace(file, partition=partition, form=form) for file in files]

    def end(self) -> None:
        """Add the noted files and marks to the streams."""
        for stream in self.streams:
            if self.is_rewritten:
                mark = StreamFile(0, f"{REWRITE}{uuid.uuid4().hex}", 0, 0)
                self.catalog.streams.add_files(stream.table_id, [mark])
            if not has_spans(stream):
                self.add(stream, self._files)

    def add(self, stream: Table, files: Sequence[DataFile]) -> None:
        """Add files of the table to the end of one stream."""
        if not files:
            return
        items = [self._remote_item(stream, file) for file in files if uri.is_remote(file.path)]
        if local := [file for file in files if not uri.is_remote(file.path)]:
            items += self._local_items(stream, local)
        self.catalog.streams.add_files(stream.table_id, items)

    def _remote_item(self, stream: Table, file: DataFile) -> StreamFile:
        name, form = wanted_name(file.path, file.partition), _form(stream, self.table, file.form)
        return StreamFile(0, name, file.size_bytes, file.modified_ns, form, file.tag)

    def _local_items(self, stream: Table, files: Sequence[DataFile]) -> list[StreamFile]:
        root = Path(local_path(stream.location or ""))
        folder = root / uuid.uuid4().hex
        self._folders.append(folder)
        items = []
        try:
            for number, file in enumerate(files):
                name = Path(folder.name, file.partition, numbered_name(number, file.path))
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                _give_second_name(file.path, str(root / name))
                form = _form(stream, self.table, file.form)
                items.append(StreamFile(0, str(name), file.size_bytes, file.modified_ns, form, file.tag))
        except OSError as error:
            raise io_error(error, str(folder)) from None
        staged_files.sync_folders(str(root / path) for item in items for path in Path(item.name).parents)
        return items

    def take_back(self) -> None:
        """Remove the links after the transaction failed."""
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)


def _give_second_name(path: str, other: str) -> None:
    """Hard-link a file, or copy it if the file system cannot link it."""
    try:
        Path(other).hardlink_to(path)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EMLINK, errno.EPERM, errno.EOPNOTSUPP):
            raise
        shutil.copy2(path, other)
        staged_files.sync_staged(other)


def _form(stream: Table, table: Table, form: str) -> str:
    """Return the format and columns of a table's file written in `form`, if they differ from the stream's.

    The table may have been altered since the stream was created.
    """
    storage, columns = partition_format_from_text(form)
    storage, columns = storage or table.storage, columns or table.data_schema
    named = table.partition_columns
    known = [(one.name, one.dtype) for one in stream.schema if one.name not in named]
    same = [(one.name, one.dtype) for one in columns.fields[: len(known)]]
    return partition_format_to_text(None if storage == stream.storage else storage, None if same == known else columns)

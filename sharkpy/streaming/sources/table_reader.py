"""Rows appended to a table, as a stream: each of their files is read once, in the order of the writes.

Remote files that the table dropped meanwhile are removed when no stream needs them any more.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import SharkError, SourceError, TableNotFoundError
from sharkpy.catalog.continuous_query import Position
from sharkpy.catalog.folder_readers import wanted_file
from sharkpy.catalog.path_gate import local_path
from sharkpy.catalog.stream_kinds import MAX_FILES, TABLE
from sharkpy.catalog.stream_store import REWRITE, StreamFile
from sharkpy.execution.tables.hidden_files import HiddenFiles
from sharkpy.sources.folders.manifests import home_of_staging, write_of
from sharkpy.sources.folders.remote_removal import Removal
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import store_for_access
from sharkpy.streaming.sources.folder_reader import FAIL_ON_LOSS

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.stream_store import StreamFile
    from sharkpy.execution.tables.snapshot import QuerySnapshot


class TableReader:
    """Reader of the files that writes add to a table: by second names, or in remote folders by their own (`TableFeed`).

    1. The items are in the catalog only, from the transaction that commits the rows.
    2. A mark that rows of the table were replaced or removed raises SourceError. With the stream's property
       `failOnDataLoss` = 'false' it is passed over.
    """

    keeps_items = True

    def __init__(self, stream: Table, catalog: Catalog) -> None:
        options = () if stream.stream is None else stream.stream.options
        self._stream = stream
        self._catalog = catalog
        self._folder = Path(local_path(stream.location or ""))
        self._is_strict = dict(stream.properties).get(FAIL_ON_LOSS, "true").lower() != "false"
        self._max_files = TABLE.value(options, MAX_FILES)
        self._lock = threading.Lock()
        self._end: int | None = None
        self._looked = 0.0

    @property
    def end(self) -> Position:
        return (self._end or 0,)

    def look(self, age: float = 0.0) -> Position:
        with self._lock:
            now = time.monotonic()
            if self._end is None:
                self._clear()
            if self._end is None or now - self._looked >= age:
                if followed_table(self._stream, self._catalog) is None:
                    raise dropped_table_error(self._stream)
                self._end = self._catalog.streams.end(self._stream.table_id)
                self._looked = now
            return self.end

    def first(self) -> Position:
        files = self._catalog.streams.files(self._stream.table_id, 0, self.end[0])
        return (files[0].number if files else self.end[0],)

    def since(self, moment_ms: int) -> Position | None:
        """Find the position by the times of the writes. Files with later numbers follow it, whatever their times."""
        files = self._catalog.streams.files(self._stream.table_id, 0, self.end[0])
        found = (one.number for one in files if one.modified_ns >= moment_ms * 1_000_000)
        return (next(found, self.end[0]),)

    def num_gone(self) -> int:
        return sum(self.first())

    def unsettled_seconds(self) -> float:
        return 0.0

    def cut(self, start: Position, end: Position) -> Position:
        return (min(end[0], start[0] + self._max_files),)

    def give(self, snapshot: QuerySnapshot, start: Position, end: Position) -> None:
        files = self._catalog.streams.files(self._stream.table_id, start[0], end[0])
        if len(files) != end[0] - start[0]:
            raise SourceError(f"rows of {self._stream.qualified_name} were forgotten before they were read")
        self._check_rewritten(files)
        snapshot.give(self._stream, [self._data_file(one) for one in files if not one.name.startswith(REWRITE)])

    def _data_file(self, file: StreamFile) -> DataFile:
        facts = (file.size_bytes, file.modified_ns)
        partition, path = wanted_file(file.name)
        if path:
            return DataFile(path, *facts, partition, file.form, file.tag, self._catalog.access_id(path))
        _, _, below = file.name.partition("/")
        return DataFile(str(self._folder / file.name), *facts, below.rpartition("/")[0], file.form, file.tag)

    def _check_rewritten(self, files: Sequence[StreamFile]) -> None:
        """Raise SourceError if one of the items is a mark that rows of the table were replaced or removed."""
        if self._is_strict and any(one.name.startswith(REWRITE) for one in files):
            message = f"rows of the table of {self._stream.qualified_name} were replaced or removed"
            hint = (
                "CREATE STREAM … FROM TABLE … WITH CHANGES reads deleted rows, too;"
                f" ALTER TABLE … SET TBLPROPERTIES ('{FAIL_ON_LOSS}' = 'false') continues with appended rows only"
            )
            raise SourceError(message, hint=hint, sqlstate="55000")

    def release(self, end: Position) -> None:
        if not end or self._catalog.readers.is_read(self._stream.location or ""):
            return
        with self._lock:
            gone = self._catalog.streams.files(self._stream.table_id, 0, end[0])
            if not gone:
                return
            with self._catalog.transaction():
                self._catalog.streams.forget_files(self._stream.table_id, [one.number for one in gone])
            remove_dropped_files(gone, followed_table(self._stream, self._catalog), self._catalog)
            for one in gone:
                if wanted_file(one.name)[1]:
                    continue
                path = self._folder / one.name
                path.unlink(missing_ok=True)
                for folder in path.relative_to(self._folder).parents[:-1]:
                    with suppress(OSError):
                        (self._folder / folder).rmdir()

    def close(self) -> None:
        """Do nothing: no file is kept open."""

    def _clear(self) -> None:
        """Remove files of writes that were killed before their transaction."""
        if self._catalog.is_read_only:
            return
        with self._catalog.transaction():
            streams, stream_id = self._catalog.streams, self._stream.table_id
            known = {one.name.partition("/")[0] for one in streams.files(stream_id, 0, streams.end(stream_id))}
            with suppress(FileNotFoundError):
                for name in os.listdir(self._folder):  # noqa: PTH208  only names are needed
                    if name not in known:
                        shutil.rmtree(self._folder / name, ignore_errors=True)


_log = logging.getLogger(__name__)


def dropped_table_error(stream: Table) -> TableNotFoundError:
    """Return the error for a stream whose table was dropped."""
    hint = "UNDROP TABLE restores it while it is retained"
    return TableNotFoundError(f"the table of the stream {stream.qualified_name} was dropped", hint=hint)


def followed_table(stream: Table, catalog: Catalog) -> Table | None:
    """Return the table this stream follows, or None if it was dropped."""
    table_id = catalog.streams.feeding(stream.table_id)
    return None if table_id is None else catalog.current_table(table_id)


def remove_dropped_files(files: Iterable[StreamFile], table: Table | None, catalog: Catalog) -> None:
    """Remove files of a stream of `table` that the table dropped while the stream still needed them.

    The catalog no longer counts them as the stream's files. A file that cannot be removed now stays until the table is
    dropped.
    """
    found: dict[tuple[str, bool], list[str]] = {}
    read = [one for one in map(wanted_file, (one.name for one in files)) if one[1]]
    if table is None or not read:
        return
    if catalog.log.find(table.location or "") is not None:
        HiddenFiles(catalog.readers, catalog).sweep(table)
        return
    for partition, path in read:
        if write_of(path) and not catalog.log.names(path):
            found.setdefault(_named_in(table, partition, path, catalog), []).append(path)
    for (folder, is_deep), paths in found.items():
        try:
            access = catalog.access_id(folder)
            Removal(folder, store_for_access(folder, access), access).remove_unnamed(paths, is_deep=is_deep)
        except SharkError as error:
            _log.warning('files that were read stay in "%s": %s', uri.redacted(folder), error)


def _named_in(table: Table, partition: str, path: str, catalog: Catalog) -> tuple[str, bool]:
    """Return the folder whose manifests may name a file, and whether manifests of its subfolders may too.

    The file belongs to a table, or to a Hive partition of it. A file may have another name by now, or belong to another
    table. So all subfolders count if it was written to another folder than the current one.
    """
    home = home_of_staging(path)
    folder = uri.join(home, partition) if partition else home
    return (folder, False) if folder == _folder(table, partition, catalog) else (home, True)


def _folder(table: Table, partition: str, catalog: Catalog) -> str | None:
    """Return the folder of a table or of its Hive partition, or None if the table no longer has the partition."""
    if not partition:
        return table.location
    known = catalog.partitions(table).find(partition)
    return None if known is None else known.folder(table)

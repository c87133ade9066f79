"""Table of a lake format at one of its snapshots, with a cache of tables, metadata tables, and files of remote writes.

Each write to a remote table has its own folder, `sharkpy-<id>`, among the table's data. Its files keep their names, and
count once a snapshot has them. The folder's name is not hidden, so that other engines can find and remove files in it
that are no longer in any snapshot.
"""

from __future__ import annotations

import datetime
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import field, fields, replace
from functools import partial
from typing import Any
from uuid import uuid4

import pyarrow as pa

from sharkpy.base import uri
from sharkpy.base.cancellation import cancellable_lock, checked
from sharkpy.base.errors import SourceError
from sharkpy.base.records import dataclass
from sharkpy.catalog.lake_tables import PartitionField
from sharkpy.catalog.model import Constraint, Table
from sharkpy.catalog.system_tables import SystemTable
from sharkpy.columnar.statistics_table import StatisticsTable
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import store_for_access, store_of_file
from sharkpy.sources.parallel_requests import parallel_map
from sharkpy.values.types import Schema, arrow_schema


@dataclass(frozen=True, slots=True)
class LakeFiles:
    """Data files of a snapshot, with the metadata in its file lists.

    `files`: of remote files, time and tag are not known. `statistics` has each file as if it were a block, in the same
    order. `outside`: local paths that may lead out of the table's folder (see `may_be_outside`), including delete files
    and file lists.
    """

    files: tuple[DataFile, ...]
    statistics: StatisticsTable
    outside: tuple[str, ...]

    @property
    def num_rows(self) -> int:
        """Number of rows, including deleted ones."""
        return self.statistics.count()


def may_be_outside(path: str, folder: str) -> bool:
    """True for a path that is not below a folder, or has a hidden name, which the search for links there skips."""
    inside = uri.below(path, folder)
    return inside is None or any(name.startswith(("_", ".")) for name in inside.split("/"))


def required(names: Iterable[str]) -> tuple[Constraint, ...]:
    """NOT NULL constraints of columns."""
    return tuple(Constraint("NOT NULL", f"{name}_required", (name,), is_enabled=True) for name in names)


class LakeSnapshot:
    """Snapshot of a table; its files are listed on first use. Safe to use from several threads."""

    def __init__(self, number: int | None, listed: Callable[[], LakeFiles]) -> None:
        """`number` is None for a table without a snapshot yet."""
        self.number = number
        self._list = listed
        self._lock = threading.Lock()
        self._found: LakeFiles | None = None
        self._seen: dict[str, DataFile] = {}

    @property
    def found(self) -> LakeFiles:
        with cancellable_lock(self._lock):
            if self._found is None:
                self._found = self._list()
            return self._found

    def files(self, among: Sequence[DataFile] | None = None) -> list[DataFile]:
        """Files of the snapshot, or the ones in `among`. Remote files get the times and tags that later detect changes.

        SourceError if a file is missing, or has another size than the snapshot says.
        """
        files = self.found.files if among is None else among
        unseen = [file for file in files if file.access and file.path not in self._seen]
        self._seen.update(zip((file.path for file in unseen), parallel_map(_seen, unseen), strict=True))
        return [self._seen.get(file.path, file) for file in files]


def _seen(file: DataFile) -> DataFile:
    facts = store_of_file(file).stat(file.path)
    if facts is None:
        raise SourceError(f'"{uri.redacted(file.path)}", a file of a lake table, does not exist', sqlstate="58P01")
    if facts.size_bytes != file.size_bytes:
        message = f'"{uri.redacted(file.path)}" has {facts.size_bytes} bytes, where its table says {file.size_bytes}'
        raise SourceError(message)
    return replace(file, modified_ns=facts.modified_ns, tag=facts.tag)


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeTable(Table):
    """Table at a snapshot. `handle`: the format's own object for it. `divided_by`: partition fields of new files."""

    snapshot: LakeSnapshot = field(compare=False, repr=False)
    handle: Any = field(compare=False, repr=False)
    divided_by: tuple[PartitionField, ...] = field(default=(), compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Reduce to columns and storage format for tasks: snapshot and handle only work in this process."""
        return partial(Table, **{one.name: getattr(self, one.name) for one in fields(Table)}), ()


_MOST = 256


class LakeTableCache:
    """Tables of a format that were looked up last, and the entries of tables that were named by their locations. Safe
    to use from several threads.

    A table is cached by its entry and its state, and by the session that looked it up if that matters.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: OrderedDict[tuple[str, Hashable], tuple[Table, Hashable, LakeTable]] = OrderedDict()
        self._named: OrderedDict[str, Table] = OrderedDict()

    def find(self, entry: Table, state: Hashable, who: Hashable = None) -> LakeTable | None:
        """Cached table, if its entry and its state are unchanged."""
        with self._lock:
            known = self._made.get((entry.table_id, who))
        return known[2] if known is not None and known[0] is entry and known[1] == state else None

    def keep(self, entry: Table, state: Hashable, made: LakeTable, who: Hashable = None) -> LakeTable:
        with self._lock:
            self._made[entry.table_id, who] = entry, state, made
            self._made.move_to_end((entry.table_id, who))
            if len(self._made) > _MOST:
                self._made.popitem(last=False)
        return made

    def entry(self, place: str, make: Callable[[], Table]) -> Table:
        """Entry of a table that a query names by its location: the same object each time."""
        with self._lock:
            found = self._named.pop(place, None) or make()
            self._named[place] = found
            if len(self._named) > _MOST:
                self._named.popitem(last=False)
        return found


_NAME = re.compile(r"sharkpy-[0-9a-f]{32}")


def new_lake_staging(folder: str) -> str:
    """Location for the files of a new write, in the folder of a table's data."""
    return uri.join(folder, f"sharkpy-{uuid4().hex}")


def is_lake_staging(location: str) -> bool:
    return uri.is_remote(location) and _NAME.fullmatch(uri.name_of(location)) is not None


def remove_staged(staging: str, access_id: str, kept: Collection[str] = ()) -> None:
    """Remove the files that tasks have put there, except the files in `kept`."""
    store = store_for_access(staging, access_id)
    gone = [facts.path for facts in checked(store.list(staging)) if facts.path not in kept]
    if gone:
        store.delete(gone)
    store.remove_uploads(staging, 1 << 62)


Row = tuple[Any, ...]
Rows = Callable[[LakeTable], Iterable[Row]]
"""Makes the rows of a metadata table."""


def metadata_table(table: LakeTable, what: str, schema: Schema, rows: Rows) -> SystemTable:
    """Metadata table `what` of a table; its rows are made when it is read."""

    def made() -> list[pa.Table]:
        values = list(zip(*rows(table), strict=True)) or [()] * len(schema)
        target = arrow_schema(schema)
        arrays = [pa.array(list(column), field.type) for column, field in zip(values, target, strict=True)]
        return [pa.table(arrays, schema=target)]

    return SystemTable(table.database, f"{table.name}.{what}", schema, made)


def moment_of(milliseconds: int) -> datetime.datetime:
    """Time in UTC, from milliseconds since 1970."""
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=milliseconds)

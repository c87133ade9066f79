"""A table of a lake format at one of its snapshots."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

from sharkpy.base import uri
from sharkpy.base.cancellation import cancellable_lock
from sharkpy.base.errors import SourceError
from sharkpy.catalog.lake_tables import PartitionField
from sharkpy.catalog.model import Constraint, Table
from sharkpy.columnar.statistics_table import StatisticsTable
from sharkpy.sources.layout import DataFile
from sharkpy.sources.local_copy import store_at
from sharkpy.sources.side_by_side import side_by_side


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
        self._seen.update(zip((file.path for file in unseen), side_by_side(_seen, unseen), strict=True))
        return [self._seen.get(file.path, file) for file in files]


def _seen(file: DataFile) -> DataFile:
    facts = store_at(file).stat(file.path)
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

"""Parquet files of a stream that an epoch passes on whole, because its query changes no row: they are copied.

To write the rows again would take several times as long as to make blocks of them.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.cancellation import check_cancelled, checked
from sharkpy.base.records import dataclass
from sharkpy.execution.commands.writes.table_files import will_load
from sharkpy.plan.expr import Alias, ColumnRef
from sharkpy.plan.logical import LogicalPlan, Project, Scan
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.folders.staged_writes import STAGED
from sharkpy.sources.formats import file_suffix
from sharkpy.sources.open_files import check_unchanged, local_copy
from sharkpy.sources.parquet import ParquetSource
from sharkpy.sources.parquet_footer import parquet_footer
from sharkpy.sources.source import Split
from sharkpy.sources.split_rows import read_split

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.execution.tables.snapshot import QuerySnapshot

_LEAST_BYTES = 4 << 20
"""Mean size of files from which they are passed on. The rows of smaller ones become one file."""
_STEM = "part"


@dataclass(frozen=True, slots=True)
class PassedFiles:
    """Files whose rows an epoch adds to a table as they are."""

    table: Table
    splits: tuple[Split, ...]
    """All parts of the files."""

    @staticmethod
    def of(query: LogicalPlan, table: Table, session: EngineSession, snapshot: QuerySnapshot) -> PassedFiles | None:
        """Return the files if the query of an INSERT into `table` passes them on, else None.

        They have exactly the columns of the table, and all readers read them alike. The table is loaded at once, which
        finds damage in the files.
        """
        scan = _scan_of(query)
        if scan is None or not snapshot.given_files(scan.table) or table.buckets is not None:
            return None
        is_here = session.engine.is_local and not uri.is_remote(table.location or "") and will_load(table, session)
        # Properties of the table may choose another form of its files.
        if not is_here or table.storage != scan.table.storage or table.storage.name != ParquetSource.name:
            return None
        if table.storage.properties or table.constraints or scan.table.is_partitioned:
            return None
        names, splits = table.schema.names, snapshot.scan_source(scan.table)
        dtypes = [field.dtype for field in table.schema]
        if scan.names != names or [column.dtype for column in scan.columns] != dtypes:
            return None
        if not isinstance(splits, Sequence) or not _are_large(splits):
            return None
        found = PassedFiles(table, tuple(splits))
        return found if all(_is_plain(split, names) for split in found._files) else None

    @property
    def _files(self) -> list[Split]:
        """The first part of each file."""
        return list({split.path: split for split in reversed(self.splits)}.values())[::-1]

    def stage(self, staging: str) -> int:
        """Copy the files into a staging folder. Return the number of rows.

        Raise SourceError for a file that is gone or was changed after it was found.
        """
        suffix, counts = file_suffix(self.table.storage.name, self.table.storage.properties), dict[str, int]()
        for number, split in enumerate(self._files):
            check_cancelled()
            assert split.plain is not None  # `of` has looked
            if not split.plain.num_rows:
                continue
            target = Path(staging, f"{_STEM}-{number:05d}{suffix}")
            try:
                shutil.copyfile(split.path, target)
            except OSError as error:
                raise io_error(error, split.path) from None
            check_unchanged(split)
            counts[str(target)] = split.plain.num_rows
        STAGED.note_counts(staging, counts)
        return sum(counts.values())

    def check(self) -> None:
        """Read all rows, of which no blocks could be made. Raise SourceError for a damaged file."""
        schema = self.table.schema
        for split in self.splits:
            for _ in checked(read_split(split, schema, schema.names)):
                pass


def _scan_of(query: LogicalPlan) -> Scan | None:
    """Return the scan whose columns a query has, under any names and in the same order, or None."""
    if isinstance(query, Project):
        below = _scan_of(query.child)
        refs = [item.expr if isinstance(item, Alias) else item for item in query.items]
        is_same = below is not None and refs == list(query.child.output)
        return below if is_same and all(isinstance(one, ColumnRef) for one in refs) else None
    is_whole = isinstance(query, Scan) and query.predicate is None and query.sample is None
    return query if isinstance(query, Scan) and is_whole else None


def _are_large(splits: Sequence[Split]) -> bool:
    sizes = {split.path: split.file_bytes for split in splits}
    return bool(sizes) and sum(sizes.values()) >= _LEAST_BYTES * len(sizes)


def _is_plain(split: Split, names: Sequence[str]) -> bool:
    """Whether a file has exactly the columns `names`, which all readers read alike."""
    if split.plain is None or split.form or split.partition or uri.is_remote(split.path):
        return False
    stored = [name for name, _ in split.plain.column_bytes]
    return stored == list(names) == list(parquet_footer(split, local_copy(split)).paths)

"""Files of a lake table: tasks write them, and a commit of the table's format publishes them."""

from __future__ import annotations

import dataclasses
import itertools
import uuid
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import SharkError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import MAX_TASK_PARTITIONS
from sharkpy.catalog.hive_partition import partition_texts
from sharkpy.catalog.lake_tables import NewFile, PartitionField, Replaced
from sharkpy.execution.commands.storage import stored_query, used_ids
from sharkpy.execution.commands.writes.staged_write import QuietWrite, discard_staging, new_staging
from sharkpy.execution.commands.writes.table_files import load_new_blocks
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.write_query import write_files
from sharkpy.physical.stage_program import FileSink
from sharkpy.plan.expr import Alias, Call, Cast, ColumnRef, Expr, Literal, SortKey, string_literal
from sharkpy.plan.logical import LogicalPlan, Project, Sort, Step
from sharkpy.plan.row_steps import TransformStep
from sharkpy.sources.copied_files import require_writable
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.folders.staged_writes import STAGED
from sharkpy.sources.folders.table_folder import table_folder
from sharkpy.sources.lake.lake_table import LakeTable, new_lake_staging, remove_staged
from sharkpy.sources.staged_files import sync_folders
from sharkpy.values.types import BINARY, STRING, Schema

if TYPE_CHECKING:
    from sharkpy.execution.tables.snapshot import QuerySnapshot

_CODEC = ("write.parquet.compression-codec", "zstd")
_UNKNOWN = "40003"
_MARK = "="
"""Prefix of partition texts in names of staged folders. It distinguishes an empty text from NULL."""


@dataclass(slots=True)
class LakeWrite(QuietWrite):
    """Write of files into a lake table's data folder.

    Staged local files are renamed into that folder right before the commit; remote files are written there directly. A
    process killed during the commit may leave files that no snapshot has, like any writer of such tables.
    """

    table: LakeTable
    replaced: Replaced
    session: EngineSession
    fields: tuple[PartitionField, ...]
    folder: str
    staging: str
    is_unchanged: bool = False
    """If True, the commit fails if another write has changed the table since this statement read it."""
    files: list[NewFile] = field(default_factory=list)
    placed: list[str] = field(default_factory=list)
    is_uncertain: bool = False
    """True if the outcome of the commit is unknown."""
    is_discarded: bool = False

    @classmethod
    def begin(
        cls, table: LakeTable, replaced: Replaced, session: EngineSession, *, is_unchanged: bool = False
    ) -> LakeWrite:
        fields = session.catalog.lakes.partition_fields(table)
        if replaced is Replaced.SAME_VALUES:
            _check_replaces(table, fields)
        folder = uri.join(table.location or "", "data")
        return cls(table, replaced, session, fields, folder, _begin_staging(table, folder, session), is_unchanged)

    def stage(self, query: LogicalPlan, snapshot: QuerySnapshot, stem: str = "part") -> None:
        """Write a query's rows, with the table's columns, into files whose names begin with `stem`."""
        table, key = self.table, _CODEC[0]
        names = tuple(f"{one.column}_{one.transform}" for one in self.fields)
        stored = stored_columns(table.schema, self.fields)
        sink = FileSink(
            stored,
            table.storage.name,
            (*table.storage.properties, ("parquet.compression", dict(table.properties).get(key, _CODEC[1]))),
            self.staging,
            partition_columns=names,
            max_partitions=self.session.conf.value(MAX_TASK_PARTITIONS) if names else None,
            stem=stem,
            access=self._access_id,
        )
        query = stored_query(query, table.schema)
        found = write_files(self.session, _by_field(query, self.fields, stored) if names else query, sink, snapshot)
        self.files += [NewFile(path, rows, size, self._values(path)) for path, rows, size in found]

    @property
    def _access_id(self) -> str:
        """Id of the access to the staged files, which the table's catalog may give; "" for local files."""
        return self.session.catalog.lakes.access_id(self.table, self.staging)

    def _values(self, path: str) -> tuple[str | None, ...]:
        if not self.fields:
            return ()
        name = uri.below(uri.parent(path), self.staging) or ""
        return tuple(text.removeprefix(_MARK) if text.startswith(_MARK) else None for text in partition_texts(name))

    def prepare(self) -> None:
        """Commit the files.

        The format's commit is not inside a catalog transaction, which would make other writers wait.
        """
        placed = self._placed_files()
        try:
            self.session.catalog.lakes.commit(
                self.table, placed, replaced=self.replaced, is_unchanged=self.is_unchanged
            )
        except SharkError as error:
            if error.sqlstate == _UNKNOWN:
                self.is_uncertain = True
            else:
                self._remove_placed()
            raise

    def _placed_files(self) -> list[NewFile]:
        """Return the files under their final names.

        From now on, the next start keeps remote files, because they may be committed.
        """
        if uri.is_remote(self.staging):
            self.session.catalog.unfinished.keep(self.staging)
            self.placed = [file.path for file in self.files]
            return self.files
        table_folder(self.folder).sync_staged(self.staging)
        placed = [self._put(file) for file in self.files]
        sync_folders([self.folder])
        return placed

    def _put(self, file: NewFile) -> NewFile:
        path = uri.join(self.folder, f"{uuid.uuid4().hex}.parquet")
        try:
            Path(file.path).rename(path)
        except OSError as error:
            self._remove_placed()
            raise io_error(error, path) from None
        self.placed.append(path)
        return dataclasses.replace(file, path=path)

    def _remove_placed(self) -> None:
        """Remove uncommitted local files; remote ones are removed with the staging folder."""
        for path in self.placed:
            if not uri.is_remote(path):
                Path(path).unlink(missing_ok=True)
        self.placed = []

    def clean(self) -> None:
        found = self.session.catalog.find_table(self.table.database, self.table.name)
        if found == self.table and self.session.table_cache.is_cached(self.table):
            load_new_blocks(found, self.session)

    def discard(self) -> None:
        if not uri.is_remote(self.staging):
            discard_staging(self.staging, self.session)
            return
        STAGED.end(self.staging)
        if not self.is_uncertain and not self.is_discarded:
            remove_staged(self.staging, self._access_id, frozenset(self.placed))
        self.is_discarded = True
        self.session.catalog.unfinished.end(self.staging)


def _check_replaces(table: LakeTable, fields: tuple[PartitionField, ...]) -> None:
    """Raise UnsupportedError if the overwrite would replace rows that only share a hash bucket."""
    if bucket := next((one for one in fields if one.transform == "bucket"), None):
        message = f"INSERT OVERWRITE of {table.qualified_name}, which is partitioned by {bucket}, is not supported"
        raise UnsupportedError(message, hint="first DELETE the rows that the statement replaces, or TRUNCATE the table")


def _begin_staging(table: LakeTable, folder: str, session: EngineSession) -> str:
    """Make a staging folder, noted so that the next start removes it after a kill."""
    if not uri.is_remote(folder):
        return new_staging(folder, session)
    require_writable(folder, session.catalog.lakes.access_id(table, folder))
    staging = new_lake_staging(folder)
    session.catalog.unfinished.begin(staging)
    return staging


def stored_columns(schema: Schema, fields: tuple[PartitionField, ...]) -> Schema:
    """Return the columns that are stored in a table's files."""
    apart = {one.column for one in fields if not one.is_stored}
    return Schema(tuple(field for field in schema if field.name not in apart))


def _by_field(query: LogicalPlan, fields: tuple[PartitionField, ...], stored: Schema) -> LogicalPlan:
    """Sort each task's rows by the partition fields, and append the texts of the fields as last columns."""
    ids = itertools.count(max(used_ids(query), default=0) + 1)
    named = {column.name: column for column in query.output}
    computed = tuple(one for one in fields if _is_computed(one, named))
    made = tuple(ColumnRef(next(ids), str(one), STRING) for one in computed)
    if computed:
        given = tuple(named[one.column] for one in computed)
        query = Step(query, TransformStep(computed), given, made, query.output)
    values = dict(zip(computed, made, strict=True))
    texts = tuple(
        Alias(Call("concat", (string_literal(_MARK), _value(one, values, named)), STRING), next(ids), str(one))
        for one in fields
    )
    keys = tuple(SortKey(ColumnRef(one.column_id, one.name, STRING)) for one in texts)
    kept = tuple(named[field.name] for field in stored)
    return Sort(Project(query, (*kept, *texts)), keys, is_global=False)


def _is_computed(field: PartitionField, named: Mapping[str, ColumnRef]) -> bool:
    """True if CAST to STRING does not give the text of the field's value, as for transforms and BINARY."""
    if field.transform == "identity":
        return field.is_stored and named[field.column].dtype == BINARY
    return field.transform != "void"


def _value(field: PartitionField, computed: Mapping[PartitionField, Expr], named: Mapping[str, ColumnRef]) -> Expr:
    """Text of a field's value."""
    if field.transform == "void":
        return Literal(None, STRING)
    return computed.get(field) or Cast(named[field.column], STRING)

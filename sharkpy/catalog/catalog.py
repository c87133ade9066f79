"""The catalog as writers see it: databases, tables and views, temporary ones of a session, and global ones."""

from __future__ import annotations

import dataclasses
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import (
    BindError,
    TableChangedError,
    TableExistsError,
    TableNotFoundError,
)
from sharkpy.catalog.garbage_collector import GarbageCollector
from sharkpy.catalog.json_rows import table_to_json
from sharkpy.catalog.lake_tables import is_lake
from sharkpy.catalog.model import Database, Table, TableKind
from sharkpy.catalog.names import DEFAULT_DATABASE, GLOBAL_TEMP, check_name
from sharkpy.catalog.path_gate import local_path
from sharkpy.catalog.readable_catalog import TEMPORARY_KINDS
from sharkpy.catalog.table_statistics import TableStatistics, statistics_to_json
from sharkpy.catalog.table_store import PartitionChanges
from sharkpy.catalog.warehouse_identity import CatalogOwner, catalog_owner, note_claim_placed, note_remote_place

if TYPE_CHECKING:
    from sharkpy.catalog.hive_partition import HivePartition


def new_table_id() -> str:
    """Return a new id, which no table of any warehouse has had."""
    return uuid.uuid4().hex


class Catalog(GarbageCollector):
    """Databases and tables of a warehouse, as one session sees and changes them. Every change is a transaction."""

    def freeing_space(self) -> AbstractContextManager[None]:
        """Run a body that frees space. On a full disk, it may use the warehouse's reserve."""
        return self._file.reserve.freeing()

    # The warehouse

    def owner(self) -> CatalogOwner:
        """Return the owner that this catalog is, for a warehouse at a URI."""
        return catalog_owner(self._file)

    def note_claimed(self) -> None:
        """Record that the warehouse at a URI knows this catalog as its owner."""
        with self._file.transaction():
            note_claim_placed(self._file)
            note_remote_place(self._file, self.warehouse_dir)

    # Databases

    def create_database(
        self,
        name: str,
        *,
        if_not_exists: bool = False,
        comment: str | None = None,
        location: str | None = None,
        properties: tuple[tuple[str, str], ...] = (),
        owner: str = "",
    ) -> bool:
        """Create a database. If it exists, return False with `if_not_exists`, else raise BindError 42P04."""
        check_name(name)
        key = name.lower()
        if key == GLOBAL_TEMP:
            raise BindError(f'database "{key}" is reserved for global temporary views', sqlstate="42939")
        place = location or self._store.database_location(key)
        with self._store.transaction():
            if self.find_database(key) is None:
                self._store.put_database(Database(key, place, comment, properties, owner))
                return True
        if not if_not_exists:
            raise BindError(f'database "{key}" already exists', sqlstate="42P04")
        return False

    def alter_database(self, database: Database) -> None:
        """Replace the metadata of the database with that name. Raise DatabaseNotFoundError if it was dropped
        meanwhile.
        """
        with self._store.transaction():
            self.database(database.name)
            self._store.put_database(database)

    def drop_database(self, name: str, *, if_exists: bool = False, cascade: bool = False) -> list[Table]:
        """Drop a database. Return the tables dropped with it. Raise BindError 2BP01 if it has tables and `cascade` is
        not set.
        """
        key = name.lower()
        if key == DEFAULT_DATABASE:
            raise BindError('database "default" cannot be dropped', sqlstate="42000")
        with self._lock, self._store.transaction():
            if self.find_database(key) is None:
                if if_exists:
                    return []
                self.database(key)
            tables = self.tables(key, with_states=True)
            if (tables or self.functions.entries(key)) and not cascade:
                raise BindError(
                    f'database "{key}" is not empty', hint="add CASCADE to drop its contents, too", sqlstate="2BP01"
                )
            self.functions.drop_database(key)
            for table in tables:
                if not table.is_state:
                    self.drop_table(table)
            if not self.is_shared:
                self.dropped.keep_database(key)
            self._store.remove_database(key)
        return tables

    def undrop_database(self, name: str) -> None:
        """Restore a dropped database with the tables that were dropped with it.

        Raise DatabaseNotFoundError if none is retained, BindError 42P04 if the name is taken.
        """
        key = name.lower()
        with self.transaction(is_durable=True):
            if self.find_database(key) is not None:
                raise BindError(f'database "{key}" already exists', sqlstate="42P04")
            self.dropped.restore_database(key)

    # Tables

    def create_table(
        self, table: Table, *, publish: Callable[[], object] | None = None, replace: bool = False
    ) -> Table:
        """Add `table`, with a lower-case name. Raise TableExistsError if the name is taken, unless `replace` is set.

        The folder of a replaced managed table becomes garbage; the new table has another folder. `publish` moves the
        table's data to its place. It runs inside the transaction, after the check, so data and catalog entry appear
        together or not at all.
        """
        check_name(table.name)
        is_temporary = table.kind in TEMPORARY_KINDS
        place = self._place(table.database) if is_temporary else self.database(table.database).name
        key = (place, table.name.lower())
        created = dataclasses.replace(
            table, database=key[0], name=key[1], created_at=table.created_at or float(int(time.time()))
        )
        if is_temporary:
            return self._create_temporary(key, created, publish, replace)
        with self.transaction(is_durable=True):
            old = self._find_permanent(key)
            if old is not None and not (replace and _can_replace(old, created)):
                raise _exists(key[1])
            if old is not None:
                self._forget(old)
            if created.location is not None:
                for one in self.dropped.around(created.location):
                    self.purge(one)
                self._clear_garbage(created.location)
                if self.can_log(created):
                    self._begin_log(created, created.location)
            self._store.add(created)
            if publish is not None:
                publish()
            return self._find_permanent(key) or created

    def can_log(self, table: Table) -> bool:
        """True if the catalog can log the files of a new table: it is managed, and its folder is empty and in the
        warehouse, or the table is continuous. Other programs may look into other folders.
        """
        location = table.location
        if self.is_shared or table.kind is not TableKind.MANAGED or is_lake(table) or location is None:
            return False
        if uri.below(location, self.warehouse_dir) is None and not (table.continuous or table.is_state):
            return False
        from sharkpy.catalog.table_folders import holds_rows

        # A remote folder has no files but the table's own: see `managed_folder`.
        return uri.is_remote(location) or not holds_rows(location)

    def _begin_log(self, table: Table, location: str) -> None:
        """Log the files of a new table, with a history unless a continuous query writes it."""
        has_history = not (table.continuous or table.is_state)
        self.log.begin(location, table.table_id if has_history else "")
        if has_history:
            self.history.note(table.table_id)

    def unlog(self, table: Table) -> None:
        """Forget the log and the history of a table whose current files are plain now. The files of its writes become
        garbage. Call this inside a transaction.
        """
        for folder in self.log.folders_below(table.location or ""):
            self._file.add_garbage(uri.join(folder, "_files"))
        self.log.forget_below(table.location or "")
        self.history.forget(table.table_id)

    def check_owned_folders(self, table: Table, partitions: Iterable[HivePartition] = ()) -> None:
        """Raise NotAllowedError if a folder to be deleted is reached through a link that leads out of the session's
        bounds. If the folder itself is a link, only the link is deleted.
        """
        for folder in (table.location, *(one.folder(table) for one in partitions)):
            if folder is not None and not uri.is_remote(folder):
                self.gate.check_folder(uri.parent(local_path(folder)))

    def log_new_partition(self, table: Table, folder: str) -> None:
        """Log the folder of a new Hive partition, if its table's folder is logged. Call this inside a transaction."""
        if (owner := self.log.owner(table.location or "")) is not None:
            self.log.begin(folder, owner)

    def drop_table(self, table: Table, *, is_purged: bool = False) -> None:
        """Forget `table`. The folder of a managed table becomes garbage (see `collect_garbage`).

        If the table has a history and is not purged, it can be restored until its retention is over.
        """
        key = (table.database, table.name)
        with self._lock:
            temporary = self._temporary_in(table.database)
            if temporary.get(key) == table:
                del temporary[key]
                if not self.is_read_only:
                    self._file.run("DELETE FROM statistics_ WHERE table_id = ?", table.table_id)
                return
            with self.transaction(is_durable=True):
                self._forget(table, is_purged=is_purged)

    def undrop_table(self, database: str, name: str) -> None:
        """Restore the last dropped table of a name.

        Raise TableNotFoundError if none is retained, TableExistsError if the name is taken.
        """
        key = (self.database(database).name, name.lower())
        with self.transaction(is_durable=True):
            if self._find_permanent(key) is not None:
                raise _exists(key[1])
            self.dropped.restore(*key)

    def _forget(self, table: Table, *, is_purged: bool = False) -> None:
        """Forget a table. Call this inside a transaction."""
        current = self._store.current(table)
        if current is None:
            raise TableNotFoundError(f"Table not found {table.name}")
        self._file.run("DELETE FROM statistics_ WHERE table_id = ?", table.table_id)
        self.streams.forget(table.table_id, current.continuous)
        is_kept = not is_purged and current.owns_data and self.has_history(current)
        if is_kept and self.surroundings.retention(current).seconds > 0:
            self.dropped.keep(current)
            return
        self.streams.forget_source(table.table_id)
        if table.owns_data:
            from sharkpy.catalog.table_folders import drops_folder

            for one in self.partitions(table):
                if drops_folder(one, table, self.warehouse_dir):
                    self._file.add_garbage(one.folder(table))
            if table.location is not None:
                self._file.add_garbage(table.location)
        self._store.remove(current)
        if is_lake(current) and current.owns_data:
            self.lakes.drop(current)
        self.history.forget(table.table_id)
        if (state := self.state_table(current)) is not None:
            self._forget(state)

    def alter_table(
        self,
        table: Table,
        *,
        was: Table | None = None,
        publish: Callable[[], object] | None = None,
        cascade: bool = False,
    ) -> Table:
        """Replace the metadata of the table with this id, including its name and database.

        Its Hive partitions keep the format and columns of their files. With `cascade` they get the new columns.
        `publish` moves its data, as in `create_table`.

        Raise TableNotFoundError if the table was dropped meanwhile, TableExistsError if the new name is taken,
        TableChangedError if the table no longer equals `was`, so that no concurrent change is lost.
        """
        check_name(table.name)
        altered = dataclasses.replace(table, database=table.database.lower(), name=table.name.lower())
        with self._lock:
            for temporary in (self._temporary, self._global):
                old_key = next((place for place, old in temporary.items() if old == table), None)
                if old_key is not None:
                    return self._alter_temporary(temporary, old_key, altered)
            key = (self.database(altered.database).name, altered.name)
            with self._store.transaction():
                other = self._find_permanent(key)
                if other is not None and other != table:
                    raise _exists(key[1])
                now = self._store.current(table)
                self._check_unchanged(was, now)
                if now is None:
                    raise TableNotFoundError(f"Table not found {table.name}")
                if self.has_history(now):
                    self.history.note_altered(now.table_id)
                kept = [(one, one.keeping(now, altered, cascade=cascade)) for one in self.partitions(now)]
                changed = [(before, after) for before, after in kept if before != after]
                self._store.alter(now, altered, changed, cascade)
                if altered.database != now.database and (state := self.state_table(now)) is not None:
                    self._store.alter(state, dataclasses.replace(state, database=altered.database), [], cascade)
                if publish is not None:
                    publish()
                return self._find_permanent(key) or altered

    def _check_unchanged(self, was: Table | None, now: Table | None) -> None:
        if was is None:
            return
        if now is None or (now.database, now.name, table_to_json(now)) != (was.database, was.name, table_to_json(was)):
            message = f'"{was.name}" was changed by another session at the same time'
            raise TableChangedError(message, hint="run the statement again")

    def copy_file(self, path: str) -> None:
        """Copy the last committed state of the catalog's file to a new file. Inside a transaction it cannot change
        meanwhile.
        """
        self._file.copy_to(path)

    def require(self, table: Table) -> None:
        """Raise TableNotFoundError if `table` was dropped meanwhile, even if another table has its name now."""
        if table.kind in TEMPORARY_KINDS:
            is_there = table in self._temporary_in(table.database).copy().values()
        else:
            is_there = self._store.current(table) is not None
        if not is_there:
            raise TableNotFoundError(f"Table not found {table.name}")

    def note_written(self, table: Table) -> None:
        """Record that a table's files change. Call this inside the transaction that publishes them."""
        if table.kind not in TEMPORARY_KINDS:
            self._store.note_written(table)

    def put_statistics(self, table: Table, found: Mapping[str, TableStatistics]) -> None:
        """Store figures of ANALYZE TABLE in one transaction, replacing earlier ones of the same Hive partitions."""
        with self._store.transaction():
            for partition, statistics in found.items():
                row = (table.table_id, partition, statistics_to_json(statistics))
                self._file.run("INSERT OR REPLACE INTO statistics_ (table_id, partition, body) VALUES (?, ?, ?)", *row)

    @contextmanager
    def partition_changes(self, table: Table) -> Iterator[PartitionChanges]:
        """Change Hive partitions and publish data in one transaction.

        Raise TableNotFoundError if the table was dropped meanwhile.
        """
        with self.transaction():
            self.require(table)
            with self._store.partition_changes(table) as changes:
                yield changes

    def _alter_temporary(
        self, temporary: dict[tuple[str, str], Table], old_key: tuple[str, str], altered: Table
    ) -> Table:
        """Replace a temporary table or view."""
        key = (self._place(altered.database), altered.name)
        if key != old_key and key in temporary:
            raise _exists(key[1])
        del temporary[old_key]
        temporary[key] = altered
        return altered

    def _create_temporary(
        self, key: tuple[str, str], table: Table, publish: Callable[[], object] | None, replace: bool
    ) -> Table:
        with self._lock:
            temporary = self._temporary_in(key[0])
            if key in temporary and not replace:
                raise _exists(key[1])
            if publish is not None:
                publish()
            temporary[key] = table
        return table


def _can_replace(old: Table, new: Table) -> bool:
    """Return False if the new table's data is in the old one's folder, which is deleted."""
    if old.streaming_kind:
        return False
    return old.is_view == new.is_view and (old.location is None or old.location != new.location)


def _exists(name: str) -> TableExistsError:
    return TableExistsError(f'table "{name}" already exists')

"""Catalog of databases, tables and views: permanent ones, kept by a store, and temporary ones of a session."""

from __future__ import annotations

import copy
import dataclasses
import functools
import os
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import (
    BindError,
    ConfigurationError,
    DatabaseNotFoundError,
    TableChangedError,
    TableExistsError,
    TableNotFoundError,
    did_you_mean,
)
from sharkpy.base.locations import Locations
from sharkpy.catalog.database_file import CatalogFile
from sharkpy.catalog.file_syncs import FileSyncs
from sharkpy.catalog.folder_readers import FolderReaders
from sharkpy.catalog.function_catalog import CatalogFunction, FunctionCatalog, ModelFunction
from sharkpy.catalog.hive_partition import HivePartition, of_then
from sharkpy.catalog.model import STATE_PREFIX, Database, Table, TableKind
from sharkpy.catalog.names import DEFAULT_DATABASE, check_name
from sharkpy.catalog.own_tables import OwnTables
from sharkpy.catalog.partition_changes import PartitionChanges
from sharkpy.catalog.path_gate import PathGate
from sharkpy.catalog.pattern import matching
from sharkpy.catalog.published import Published
from sharkpy.catalog.resources import Resources
from sharkpy.catalog.serialize import table_to_json
from sharkpy.catalog.stream_store import StreamStore
from sharkpy.catalog.system_tables import SYSTEM_DATABASE, SystemTable
from sharkpy.catalog.table_statistics import TableStatistics, statistics_from_json, statistics_to_json
from sharkpy.catalog.table_store import TableStore
from sharkpy.catalog.trash import Trash
from sharkpy.catalog.unfinished_writes import UnfinishedWrites
from sharkpy.catalog.warehouse_place import note_place
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.catalog.continuous_query import ContinuousQuery, EpochPoint
    from sharkpy.catalog.table_folders import TableFolders

STATE_FOLDER = ".sharkpy"
CATALOG_FILE = f"{STATE_FOLDER}/catalog.sqlite"
"""Place of a warehouse's own catalog."""
_GARBAGE_BATCH = 256
TEMPORARY_KINDS = (TableKind.TEMPORARY, TableKind.TEMPORARY_VIEW)


def new_table_id() -> str:
    """New id, which no table of any warehouse has had."""
    return uuid.uuid4().hex


class Catalog:
    """Databases and tables of a warehouse, as one session sees them.

    1. Names are case-insensitive and stored in lower case.
    2. Every change is one transaction of the catalog's SQLite file; several processes and threads may use it at once.
       Databases, tables and Hive partitions are kept there too, or by another `TableStore`.
    3. Temporary tables and views belong to this object and shadow permanent ones of the same name.
    4. `garbage` holds the folders of dropped tables until they are gone, so that a killed DROP cannot
       leave rows to a later table of the same name.
    5. `gate` is the session's own, for the paths that its statements name.
    """

    def __init__(
        self,
        warehouse_dir: str | os.PathLike[str],
        file_name: str = Path(CATALOG_FILE).name,
        store: Callable[[CatalogFile, str], TableStore] = OwnTables,
    ) -> None:
        """Open the catalog; `store` makes the store of permanent tables from the catalog's file and the warehouse's
        folder.
        """
        self.warehouse_dir = str(Path(warehouse_dir).expanduser().absolute())
        self.state_dir = str(Path(self.warehouse_dir, STATE_FOLDER))
        try:
            Path(self.state_dir).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(f'warehouse "{self.warehouse_dir}" cannot be written: {error.strerror}') from None
        self.file_path = str(Path(self.state_dir, file_name))
        self.locations = Locations.below(self.warehouse_dir) if store is OwnTables else Locations()
        self._file = CatalogFile(self.file_path, self.warehouse_dir, self.locations)
        self._store = store(self._file, self.warehouse_dir)
        self.is_read_only = self._file.is_read_only
        """True where nothing can be written: tables are read as they are."""
        if not (self.is_shared or self.is_read_only):
            note_place(self._file, self.warehouse_dir, self._store)
        notes = str(Path(self.state_dir, "unfinished", Path(file_name).stem))
        self.unfinished = UnfinishedWrites(notes, self.locations)
        self.readers = FolderReaders(str(Path(self.state_dir, "readers")), self.warehouse_dir)
        self.trash = Trash(str(Path(self.state_dir, "trash")))
        self.syncs = FileSyncs()
        self._temporary: dict[tuple[str, str], Table] = {}
        self.functions = FunctionCatalog(self._file)
        self.streams = StreamStore(self._file)
        self.resources = Resources()
        self.gate = PathGate()
        self.system_tables: Callable[[], Mapping[str, SystemTable]] = dict
        """Gives the tables of `sys` by name, as the session has them."""
        self.find_files: Callable[[str, str, PathGate], Table | None] = lambda _word, _place, _gate: None
        """Finds the table of files that a query names: see `file_table`."""
        self._lock = threading.RLock()
        """Held by whoever changes something; nobody who reads waits for it."""

        if self.is_shared and not self.is_read_only:
            # What a killed DROP has left may be a new table's by now.
            self._file.run("DELETE FROM garbage")

    @property
    def is_shared(self) -> bool:
        """True if others read and write the permanent tables too."""
        return self._store.is_shared

    def freeing_space(self) -> AbstractContextManager[None]:
        """Run a body that frees space: where the disk is full it has what the warehouse keeps for that."""
        return self._file.reserve.freeing()

    def close(self) -> None:
        self.syncs.close()
        self.trash.close()
        self._file.close()
        self.readers.close()
        self.unfinished.close()

    def for_session(self) -> Catalog:
        """Catalog of another session: the same tables and databases, temporary ones of its own. It ends
        with this one.
        """
        other = copy.copy(self)
        other._temporary = {}
        other.functions, other.resources = self.functions.for_session(), Resources()
        return other

    def system_table(self, name: str) -> SystemTable | None:
        """A table of `sys`, if there is no database of that name; TableNotFoundError for an unknown one."""
        if self.find_database(SYSTEM_DATABASE) is not None:
            return None
        known = self.system_tables()
        if name not in known:
            hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
            raise TableNotFoundError(f"Table not found {SYSTEM_DATABASE}.{name}", hint=hint)
        return known[name]

    def file_table(self, word: str, place: str) -> Table | None:
        """Table of the files at a path, or of a pattern, in the format that `word` names, or, where it is empty, the
        names of the files; the same one until they change. None where neither names one. NotAllowedError for what the
        session's statements may not read.
        """
        return self.find_files(word, place, self.gate)

    def find_function(self, database: str, name: str) -> CatalogFunction | None:
        """Find the function that a name means in `database`; None for a built-in or unknown one."""
        return self.functions.find(database, name)

    def model_function(self, table: Table, method: str) -> ModelFunction:
        """`predict` or `predict_proba` of the model that `table` holds; BindError if it holds no model, or none with
        that method.
        """
        return self.functions.model_loader(table, method)

    def resource_paths(self, kind: str) -> tuple[str, ...]:
        """Paths of the session's ADD FILE, ADD JAR and ADD ARCHIVE."""
        return self.resources.paths(kind)

    def check_path(self, path: str) -> None:
        """NotAllowedError for a path that the session's statements may not name."""
        self.gate.check(path)

    def check_links(self, table: Table, partitions: Iterable[HivePartition]) -> None:
        """NotAllowedError if links in the folder of a table, or of these Hive partitions of one, lead out of it and of
        the session's bounds. Files of continuous tables are the engine's own.
        """
        if table.continuous and table.kind is TableKind.MANAGED:
            return
        folders = [one.folder(table) for one in partitions] if table.is_partitioned else [table.location]
        for folder in folders:
            if folder is not None:
                self.gate.check_links(folder)

    def temporary_tables(self) -> list[Table]:
        return list(self._temporary.copy().values())

    # Databases

    def find_database(self, name: str) -> Database | None:
        return self._store.find_database(name.lower())

    def database(self, name: str) -> Database:
        """Look up a database; DatabaseNotFoundError if it is missing."""
        found = self.find_database(name)
        if found is None:
            hint = did_you_mean(name, self.database_names())
            raise DatabaseNotFoundError(f"Database not found {name}", hint=hint)
        return found

    def database_names(self, pattern: str | None = None) -> list[str]:
        return matching(set(self._store.database_names()), pattern)

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
        """Create a database; False if it exists and `if_not_exists` is given, else BindError 42P04."""
        check_name(name)
        key = name.lower()
        place = location or self._store.database_location(key)
        with self._store.transaction():
            if self.find_database(key) is None:
                self._store.put_database(Database(key, place, comment, properties, owner))
                return True
        if not if_not_exists:
            raise BindError(f'database "{key}" already exists', sqlstate="42P04")
        return False

    def alter_database(self, database: Database) -> None:
        """Replace the metadata of the database with that name; DatabaseNotFoundError if it was dropped meanwhile."""
        with self._store.transaction():
            self.database(database.name)
            self._store.put_database(database)

    def drop_database(self, name: str, *, if_exists: bool = False, cascade: bool = False) -> list[Table]:
        """Drop a database; returns the tables dropped with it. BindError 2BP01 if it has tables and `cascade` is not
        given.
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
                    f'database "{key}" is not empty', hint="add CASCADE to drop what it holds", sqlstate="2BP01"
                )
            self.functions.drop_database(key)
            for table in tables:
                if not table.is_state:
                    self.drop_table(table)
            self._store.remove_database(key)
        return tables

    # Tables

    def find_table(self, database: str, name: str) -> Table | None:
        """Find the session's temporary table of that name, else the permanent one, else None."""
        key = (database.lower(), name.lower())
        return self._temporary.get(key) or self._find_permanent(key)

    def table(self, database: str, name: str) -> Table:
        """Look up a table; TableNotFoundError if it is missing, DatabaseNotFoundError if the database is."""
        found = self.find_table(database, name)
        if found is None:
            self.database(database)
            hint = did_you_mean(name, self.table_names(database))
            raise TableNotFoundError(f"Table not found {name}", hint=hint)
        return found

    def table_names(self, database: str, pattern: str | None = None, *, views_only: bool = False) -> list[str]:
        if views_only:
            return matching(
                {table.name for table in self.tables(database) if table.is_view and not table.has_state}, pattern
            )
        key = self.database(database).name
        permanent = {name for name in self._store.table_names(key) if not name.startswith(STATE_PREFIX)}
        return matching(permanent | {name for place, name in self._temporary.copy() if place == key}, pattern)

    def tables(self, database: str, *, with_states: bool = False) -> list[Table]:
        """Tables and views of a database by name, temporary ones in place of those that they shadow; tables with the
        state of others only if they are asked for.
        """
        key = self.database(database).name
        found = {table.name: table for table in self._store.tables(key) if with_states or not table.is_state}
        found |= {name: table for (place, name), table in self._temporary.copy().items() if place == key}
        return [found[name] for name in sorted(found)]

    def state_table(self, table: Table) -> Table | None:
        """Table with the state of a continuous table; None for one without."""
        return self._find_permanent((table.database, table.state_name)) if table.has_state else None

    def named(self, query: ContinuousQuery) -> Table | None:
        """Table, insert or sink by whose name people know a continuous query; None if it was dropped."""
        return self._shown_table(query.table_id)

    def source_of(self, stream: Table) -> Table | None:
        """Table of whose rows a stream is; None for a stream of others, or where the table was dropped."""
        table_id = self.streams.feeding(stream.table_id)
        return None if table_id is None else self._shown_table(table_id)

    def _shown_table(self, table_id: str) -> Table | None:
        """Table by its id; for one with a state, the one that people see instead."""
        table = self.current_table(table_id)
        return self.current_table(table.state_of) if table is not None and table.is_state else table

    def managed_location(self, database: str, name: str) -> str:
        return uri.join(self.database(database).location, name.lower())

    def create_table(
        self, table: Table, *, publish: Callable[[], object] | None = None, replace: bool = False
    ) -> Table:
        """Add `table` (its name lower-cased); TableExistsError if the name is taken and not `replace`.

        A managed table that is replaced leaves its folder as garbage; the new one lies elsewhere.
        `publish` puts the table's data in place; it runs inside the transaction, after the check, so data
        and catalog entry appear together or not at all.
        """
        check_name(table.name)
        key = (self.database(table.database).name, table.name.lower())
        created = dataclasses.replace(
            table, database=key[0], name=key[1], created_at=table.created_at or float(int(time.time()))
        )
        if created.kind in TEMPORARY_KINDS:
            return self._create_temporary(key, created, publish, replace)
        created = dataclasses.replace(created, is_plain=self.is_shared)
        with self._lock, self._store.transaction():
            old = self._find_permanent(key)
            if old is not None and not (replace and _can_replace(old, created)):
                raise _exists(key[1])
            if old is not None:
                self._forget(old)
            if created.location is not None:
                self._clear_garbage(created.location)
            self._store.add(created)
            if publish is not None:
                publish()
            return self._find_permanent(key) or created

    def drop_table(self, table: Table) -> None:
        """Forget `table`; a managed table's folder is listed as garbage (see `collect_garbage`). UnsupportedError for a
        remote folder, which cannot be deleted.
        """
        key = (table.database, table.name)
        with self._lock:
            if self._temporary.get(key) == table:
                del self._temporary[key]
                if not self.is_read_only:
                    self._file.run("DELETE FROM statistics_ WHERE table_id = ?", table.table_id)
                return
            with self._store.transaction():
                self._forget(table)

    def _forget(self, table: Table) -> None:
        """Forget a table; called inside a transaction."""
        current = self._store.current(table)
        if current is None:
            raise TableNotFoundError(f"Table not found {table.name}")
        if table.owns_data:
            from sharkpy.catalog.table_folders import goes_with

            for one in self.partitions(table):
                if goes_with(one, table, self.warehouse_dir):
                    self._file.add_garbage(one.folder(table))
            if table.location is not None:
                self._file.add_garbage(table.location)
        self._store.remove(current)
        self._file.run("DELETE FROM statistics_ WHERE table_id = ?", table.table_id)
        self.streams.forget(table.table_id, current.continuous)
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
        """Replace the metadata of the table with this id, its name and database included.

        Its Hive partitions keep the format and the columns that their files have; with `cascade` the new columns
        are theirs too. `publish` moves its data, as in `create_table`.

        TableNotFoundError if it was dropped meanwhile, TableExistsError if the new name is taken, TableChangedError if
        it no longer equals `was`: nobody's change is lost.
        """
        check_name(table.name)
        altered = dataclasses.replace(table, database=table.database.lower(), name=table.name.lower())
        key = (self.database(altered.database).name, altered.name)
        with self._lock:
            old_key = next((place for place, old in self._temporary.items() if old == table), None)
            if old_key is not None:
                if key != old_key and key in self._temporary:
                    raise _exists(key[1])
                del self._temporary[old_key]
                self._temporary[key] = altered
                return altered
            with self._store.transaction():
                other = self._find_permanent(key)
                if other is not None and other != table:
                    raise _exists(key[1])
                now = self._store.current(table)
                self._check_unchanged(was, now)
                if now is None:
                    raise TableNotFoundError(f"Table not found {table.name}")
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
            message = f'"{was.name}" was changed by somebody else at the same time'
            raise TableChangedError(message, hint="run the statement again")

    def partitions(self, table: Table) -> tuple[HivePartition, ...]:
        """Hive partitions of a partitioned table by name, as they are now or at the epoch at which it is read.

        BindError 22023 where that epoch is not kept.
        """
        if not table.is_partitioned:
            return ()
        return self._store.partitions(table) if table.as_of is None else self._partitions_of_then(table, table.as_of)

    def _partitions_of_then(self, table: Table, point: EpochPoint) -> tuple[HivePartition, ...]:
        with self._file.reading():
            epoch = self.streams.epochs.wanted(table.continuous, table.qualified_name, point)
            query = self.streams.find(table.continuous)
            now = None if query is None else self.current_table(query.table_id)
            known = () if now is None else self.partitions(now)
            undone = self.streams.epochs.undone(table.continuous, epoch.number)
        return of_then(known, undone)

    def placed_partitions(self) -> frozenset[str]:
        """Ids of the tables with Hive partitions in folders apart from their table's, as far as that is known."""
        return self._store.placed_partitions()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Transaction: changes inside it count together or not at all; other writers wait. Transactions nest."""
        with self._lock, self._store.transaction():
            yield

    def copy_file(self, path: str) -> None:
        """Copy the catalog's file to a new one, as it was committed last; inside a transaction nothing comes later."""
        self._file.copy_to(path)

    def require(self, table: Table) -> None:
        """Require that `table` exists; TableNotFoundError if it was dropped meanwhile, even if another has its name
        now.
        """
        if table.kind in TEMPORARY_KINDS:
            is_there = table in self.temporary_tables()
        else:
            is_there = self._store.current(table) is not None
        if not is_there:
            raise TableNotFoundError(f"Table not found {table.name}")

    def current_table(self, table_id: str) -> Table | None:
        """Find a permanent table by its id, whatever its name."""
        return self._store.current(Table(table_id, "", "", TableKind.MANAGED, Schema(())))

    def current_tables(self, table_ids: Collection[str]) -> dict[str, Table]:
        """Permanent tables by their ids, whatever their names, as `TableStore` reads them; those that are gone are
        left out.
        """
        return self._store.current_ones(table_ids)

    def newest_generation(self, table: Table) -> int | None:
        """Last generation that counts of a table without Hive partitions; None where all do that are in its folder.

        Inside a transaction it is asked anew: an ordinary table may have become the target of a continuous query.
        BindError 22023 where the table is read at an epoch that is not kept.
        """
        if table.is_partitioned:
            return None
        if table.as_of is not None:
            return self.streams.epochs.wanted(table.continuous, table.qualified_name, table.as_of).generation
        if not table.is_stored or self.is_shared or table.kind in TEMPORARY_KINDS:
            return None
        newest = self.streams.newest(table.table_id)
        return 0 if newest is None and table.continuous else newest

    def oldest_generation(self, table: Table, partition: str) -> int | None:
        """Last generation of a table or its Hive partition that all kept epochs of a continuous table have; None where
        they have all of them.
        """
        if not table.continuous:
            return None
        if not table.is_partitioned:
            return self.streams.epochs.oldest_generation(table.table_id)
        with self._file.reading():
            undone = self.streams.epochs.undone_by_oldest(table.continuous)
            changed = next((one for one in self.partitions(table) if one.name == partition), None)
        if changed is None or changed.partition_id not in undone:
            return None
        return undone[changed.partition_id] or 0

    def published(self, tables: Iterable[Table]) -> dict[str, Published]:
        """State of some tables by their ids, all at one moment; those whose writes the catalog does not know are left
        out.
        """
        found: dict[str, Published] = {}
        if self.is_shared:
            return found
        with self._file.reading():
            for table in tables:
                if table.is_partitioned:
                    found[table.table_id] = Published(partitions=self.partitions(table))
                elif (newest := self.newest_generation(table)) is not None:
                    found[table.table_id] = Published(newest)
        return found

    def note_written(self, table: Table) -> None:
        """Note that a table's files change; called inside the transaction that puts them in place."""
        if table.kind not in TEMPORARY_KINDS:
            self._store.note_written(table)

    def statistics(self, table: Table) -> dict[str, TableStatistics]:
        """Figures of ANALYZE TABLE by the names of Hive partitions; by the empty name for a table without them."""
        rows = self._file.rows("SELECT partition, body FROM statistics_ WHERE table_id = ?", table.table_id)
        return {partition: statistics_from_json(body) for partition, body in rows}

    def put_statistics(self, table: Table, found: Mapping[str, TableStatistics]) -> None:
        """Store figures of ANALYZE TABLE, replacing those of the same Hive partitions; all of them, or none."""
        with self._store.transaction():
            for partition, statistics in found.items():
                row = (table.table_id, partition, statistics_to_json(statistics))
                self._file.run("INSERT OR REPLACE INTO statistics_ (table_id, partition, body) VALUES (?, ?, ?)", *row)

    @contextmanager
    def partition_changes(self, table: Table) -> Iterator[PartitionChanges]:
        """Change Hive partitions and put data in place, in one transaction.

        TableNotFoundError if the table was dropped meanwhile.
        """
        with self.transaction():
            self.require(table)
            with self._store.partition_changes(table) as changes:
                yield changes

    def clear_garbage(self, path: str) -> None:
        """Remove what dropped tables and Hive partitions left at `path` and around it, before data is put there."""
        around = "SELECT folder FROM garbage WHERE folder = ? OR substr(?, 1, length(folder) + 1) = folder || '/'"
        stored = self.locations.stored(path)
        with self._lock, self._store.transaction():
            for (folder,) in self._file.rows(around, stored, stored):
                self._clear_garbage(self.locations.absolute(folder))
        self.trash.empty()

    def keep_garbage(self, path: str) -> bool:
        """Keep what a dropped Hive partition has left at `path`, where somebody may read it: new data has to hide it.

        False if nothing has to be kept. Called inside a transaction.
        """
        stored = self.locations.stored(path)
        if self.is_shared or self._file.row("SELECT folder FROM garbage WHERE folder = ?", stored) is None:
            return False
        if not any(map(self.readers.is_read, (path, *map(str, Path(path).parents)))):
            return False
        self._file.run("DELETE FROM garbage WHERE folder = ?", stored)
        return True

    def collect_garbage(self) -> None:
        """Delete the folders of dropped tables. Folders that are being read, or cannot be deleted now, stay listed."""
        from sharkpy.catalog.table_folders import TableFolders

        rows = self._file.rows("SELECT folder FROM garbage")
        # A table's folder before those of its Hive partitions in it.
        waiting = sorted(self.locations.absolute(folder) for (folder,) in rows)
        # A transaction is written to the disk: one for each of thousands of Hive partitions would take seconds.
        for start in range(0, len(waiting), _GARBAGE_BATCH):
            with self._lock, self._store.transaction():
                taken = TableFolders(self)
                is_read = functools.cache(self.readers.is_read)
                for path in waiting[start : start + _GARBAGE_BATCH]:
                    folders = () if self.is_shared else (path, *map(str, Path(path).parents))
                    if not any(map(is_read, folders)):
                        self._clear_garbage(path, taken)
        if waiting:
            self.trash.empty()

    def _clear_garbage(self, path: str, taken: TableFolders | None = None) -> None:
        """Move a dropped table's folder away, then forget it; called inside a transaction.

        A folder that holds another table's, or is another managed table's too, stays.
        """
        stored = self.locations.stored(path)
        if self._file.row("SELECT folder FROM garbage WHERE folder = ?", stored) is None:
            return
        from sharkpy.catalog.table_folders import TableFolders

        is_others = (taken or TableFolders(self)).held_by(path) is not None
        if is_others or self.trash.take(path) or self.is_shared:
            self._file.run("DELETE FROM garbage WHERE folder = ?", stored)

    def _create_temporary(
        self, key: tuple[str, str], table: Table, publish: Callable[[], object] | None, replace: bool
    ) -> Table:
        with self._lock:
            if key in self._temporary and not replace:
                raise _exists(key[1])
            if publish is not None:
                publish()
            self._temporary[key] = table
        return table

    def _find_permanent(self, key: tuple[str, str]) -> Table | None:
        return self._store.find(*key)


def _can_replace(old: Table, new: Table) -> bool:
    """False if the new table's data lies in the old one's folder, which is deleted."""
    if old.streaming_kind:
        return False
    return old.is_view == new.is_view and (old.location is None or old.location != new.location)


def _exists(name: str) -> TableExistsError:
    return TableExistsError(f'table "{name}" already exists')

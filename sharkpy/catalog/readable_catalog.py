"""The catalog as readers see it: databases, tables and views, their committed state, and other objects of
statements.
"""

from __future__ import annotations

import copy
import dataclasses
import os
import threading
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sharkpy.base import uri
from sharkpy.base.errors import (
    ConfigurationError,
    DatabaseNotFoundError,
    TableNotFoundError,
    UnsupportedError,
    did_you_mean,
)
from sharkpy.base.settings import Conf
from sharkpy.base.uri import STATE_FOLDER, Locations
from sharkpy.base.wildcards import names_matching
from sharkpy.catalog.database_file import CatalogFile
from sharkpy.catalog.dropped_tables import DroppedTables
from sharkpy.catalog.file_log import FileLog
from sharkpy.catalog.file_options import NO_OPTIONS, FileOptions
from sharkpy.catalog.folder_readers import WANTED, FolderReaders
from sharkpy.catalog.function_catalog import CatalogFunction, FunctionCatalog, ModelFunction, Resources
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.json_rows import table_from_json
from sharkpy.catalog.lake_tables import LAKES, is_lake
from sharkpy.catalog.model import STATE_PREFIX, Database, Table, TableKind
from sharkpy.catalog.names import GLOBAL_TEMP, folder_name
from sharkpy.catalog.partition_cache import partitions_read
from sharkpy.catalog.partition_list import NO_PARTITIONS, CommittedFiles, PartitionList, partitions_before
from sharkpy.catalog.path_gate import PathGate
from sharkpy.catalog.stream_store import StreamStore
from sharkpy.catalog.surroundings import Surroundings
from sharkpy.catalog.system_tables import SYSTEM_DATABASES, SystemTable
from sharkpy.catalog.table_history import Change, TableHistory, VersionPoint
from sharkpy.catalog.table_statistics import TableStatistics, statistics_from_json
from sharkpy.catalog.table_store import FindOwners, SqliteTables, TableStore, table_owners
from sharkpy.catalog.trash import Trash
from sharkpy.catalog.unfinished_writes import FileSyncs, UnfinishedWrites
from sharkpy.catalog.warehouse_identity import note_place
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.catalog.continuous_query import ContinuousQuery
    from sharkpy.catalog.lake_tables import LakeTables

CATALOG_FILE = f"{STATE_FOLDER}/catalog.sqlite"
"""Place of a warehouse's own catalog."""
TEMPORARY_KINDS = (TableKind.TEMPORARY, TableKind.TEMPORARY_VIEW)


class ReadableCatalog:
    """Databases and tables of a warehouse, as one session sees them.

    1. Names are case-insensitive and stored in lower case.
    2. Several processes and threads may use the catalog's SQLite file. It also stores databases, tables and Hive
       partitions, unless another `TableStore` does.
    3. Temporary tables and views belong to this object and shadow permanent ones of the same name.
    4. `gate` belongs to the session, for the paths in its statements.
    """

    def __init__(
        self,
        warehouse_dir: str | os.PathLike[str],
        file_name: str = Path(CATALOG_FILE).name,
        store: Callable[[CatalogFile, str], TableStore] = SqliteTables,
        *,
        home: str | os.PathLike[str] | None = None,
    ) -> None:
        """Open the catalog.

        `store` creates the store of permanent tables from the catalog's file and the warehouse's folder. `home` is the
        local folder of the catalog, which a warehouse at a URI needs. By default it is in the warehouse.
        """
        self.home = str(Path(warehouse_dir if home is None else home).expanduser().absolute())
        """Local folder of the catalog and of the engine's own files."""
        self.warehouse_dir = self.home if home is None else os.fspath(warehouse_dir)
        self.state_dir = str(Path(self.home, STATE_FOLDER))
        try:
            Path(self.state_dir).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(f'warehouse "{self.home}" cannot be written: {error.strerror}') from None
        self.file_path = str(Path(self.state_dir, file_name))
        self.locations = Locations.below(self.warehouse_dir) if store is SqliteTables else Locations()
        self._file = CatalogFile(self.file_path, self.home, self.locations)
        self._store = store(self._file, self.warehouse_dir)
        self.is_read_only = self._file.is_read_only
        """True if nothing can be written. Tables can be read."""
        if not (self.is_shared or self.is_read_only):
            try:
                note_place(self._file, self.warehouse_dir, self._store)
            except BaseException:
                self._file.close()
                raise
        notes = str(Path(self.state_dir, "unfinished", Path(file_name).stem))
        self.unfinished = UnfinishedWrites(notes, self.locations)
        self.readers = FolderReaders(str(Path(self.state_dir, "readers")), self.warehouse_dir)
        self.trash = Trash(str(Path(self.state_dir, "trash")))
        self.syncs = FileSyncs()
        self._temporary: dict[tuple[str, str], Table] = {}
        self._global: dict[tuple[str, str], Table] = {}
        """Global temporary views, which all sessions share."""
        self.functions = FunctionCatalog(self._file, str(Path(self.state_dir, "functions")))
        self.history = TableHistory(self._file)
        self.log = FileLog(self._file, self.history)
        self.dropped = DroppedTables(self._file, self.history)
        self.streams = StreamStore(self._file)
        WANTED.add(self.streams)
        self.resources = Resources()
        self.gate = PathGate()
        self.surroundings = Surroundings(Conf())
        """Answers of the session that has opened this catalog."""
        self._lock = threading.RLock()
        """Held by each writer. Readers do not take it."""

        if self.is_shared and not self.is_read_only:
            # Garbage of a killed DROP may belong to a new table by now.
            self._file.run("DELETE FROM garbage")

    @property
    def is_shared(self) -> bool:
        """True if other systems read and write the permanent tables too."""
        return self._store.is_shared

    def close(self) -> None:
        WANTED.forget(self.streams)
        self.syncs.close()
        self.trash.close()
        self._file.close()
        self.readers.close()
        self.unfinished.close()

    def for_session(self) -> Self:
        """Return the catalog of another session, with the same tables and databases but its own temporary ones. It is
        closed with this one.
        """
        other = copy.copy(self)
        other._temporary = {}
        other.functions, other.resources = self.functions.for_session(), Resources()
        return other

    def system_table(self, database: str, name: str) -> SystemTable | None:
        """Return a table of a system database. Return None if `database` is not one, and raise TableNotFoundError for
        an unknown table.
        """
        known = self._system_tables(database)
        if known is not None and name not in known:
            hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
            raise TableNotFoundError(f"Table not found {database}.{name}", hint=hint)
        return None if known is None else known[name]

    def _system_tables(self, database: str) -> dict[str, SystemTable] | None:
        """Return the tables of a system database, or None if `database` is not one or a user's database hides it."""
        if database not in SYSTEM_DATABASES or self.find_database(database) is not None:
            return None
        return {one.name: one for one in self.surroundings.system_tables().values() if one.database == database}

    def given_rows(self, name: str, *, is_registered: bool) -> None:
        """Return None: a catalog has no given rows."""

    def file_table(self, word: str, place: str, given: FileOptions = NO_OPTIONS) -> Table | None:
        """Return the table of the files at a path or pattern, in the format `word`. If `word` is empty, the file names
        decide the format.

        Return the same table until the files change, or None if neither names a format. Raise NotAllowedError for files
        that the session's statements may not read.
        """
        if word in LAKES and given == NO_OPTIONS:
            return self.lakes.named(word, place, self.gate)
        return self.surroundings.file_table(word, place, given, self.gate, self.named_access_id)

    def access_id(self, location: str) -> str:
        """Return the id of the session's access to the remote location of a table in the catalog."""
        return self.surroundings.access_id(location, is_named=False)

    def named_access_id(self, location: str) -> str:
        """Return the id of the session's access to a remote location in a statement. Raise NotAllowedError if it has
        none.
        """
        return self.surroundings.access_id(location, is_named=True)

    def schema_text(self, location: str) -> str:
        """Return the text of the schema at a remote location, for a table in the catalog."""
        return self.surroundings.text(location, self.access_id(location))

    def named_schema_text(self, location: str) -> str:
        """Return the text of the schema at a remote location in a statement. Raise NotAllowedError if tables may not
        use it.
        """
        self.gate.check_location(location)
        return self.surroundings.text(location, self.named_access_id(location))

    @property
    def lakes(self) -> LakeTables:
        return self.surroundings.lakes

    def at(self, table: Table, point: VersionPoint) -> Table:
        """Return a table at an earlier version, whose rows are read from files: a snapshot of a lake table, an epoch of
        a continuous table, or a commit.

        Raise BindError 22023 if the version is not available, UnsupportedError for tables without versions.
        """
        if is_lake(table):
            return self.lakes.at(table, point)
        if not table.continuous:
            self.require_history(table, "an earlier version")
            version = self.history.wanted(table.base_id, table.qualified_name, point)
            if point.is_added:
                self.log.require_added(table, version)
            if (text := self.history.definition(table.base_id, version)) is not None:
                then = table_from_json(table.table_id, table.database, table.name, text)
                table = dataclasses.replace(table, schema=then.schema, storage=then.storage, buckets=then.buckets)
        return dataclasses.replace(table.from_files(f"@{point}"), as_of=point)

    def changes(self, table: Table, first: int, last: int) -> list[Change]:
        """Return the commits of a table, the newest first. Raise SharkError if they are not known, or not any more."""
        self.require_history(table, "a listing")
        self.history.require_all_since(table.base_id, table.qualified_name, first)
        return self.history.changes(table.base_id, first, last)

    def has_history(self, table: Table) -> bool:
        """True if earlier versions can be read: the log has the table's folder, and no continuous query writes it."""
        return table.location is not None and self.log.owner(table.location) == table.base_id

    def require_history(self, table: Table, what: str) -> None:
        """Raise UnsupportedError, which names `what` is asked for, for a table without versions."""
        if not self.has_history(table):
            message = f"{what} of {table.qualified_name}, whose changes are not recorded"
            raise UnsupportedError(message, hint="they are recorded for managed tables in the warehouse")

    def lake_facts(self, table: Table, what: str) -> SystemTable:
        """Return a table about a lake table, such as its snapshots."""
        return self.lakes.facts(table, what)

    def find_function(self, database: str, name: str) -> CatalogFunction | None:
        """Find the function of a name in `database`. Return None for a built-in or unknown function."""
        return self.functions.find(database, name)

    def function_place(self, database: str, name: str) -> str | None:
        """Return the database of a permanent function. It is empty for a temporary function, None for other names."""
        return self.functions.place(database, name)

    def model_function(self, table: Table, method: str) -> ModelFunction:
        """Return `predict` or `predict_proba` of the model in `table`. Raise BindError if it holds no model, or the
        model does not have that method.
        """
        return self.functions.model_loader(table, method)

    def resource_paths(self, kind: str) -> tuple[str, ...]:
        """Return the paths of the session's ADD FILE, ADD JAR and ADD ARCHIVE."""
        return self.resources.paths(kind)

    def check_path(self, path: str) -> None:
        """Raise NotAllowedError for a path that the session's statements may not name."""
        self.gate.check(path)

    def check_links(self, table: Table, partitions: Iterable[HivePartition]) -> None:
        """Raise NotAllowedError if links in the folder of a table, or of these Hive partitions of it, lead out of both
        the folder and the session's bounds. The engine owns the files of continuous tables.
        """
        partitions = list(partitions)
        self.check_folders(table, partitions)
        if table.continuous and table.kind is TableKind.MANAGED:
            return
        folders = [one.folder(table) for one in partitions] if table.is_partitioned else [table.location]
        for folder in folders:
            if folder is not None:
                self.gate.check_links(folder)

    def check_folders(self, table: Table, partitions: Iterable[HivePartition] = ()) -> None:
        """Raise NotAllowedError if links lead from the folder of a table, or of these Hive partitions of it, out of the
        session's bounds (see `PathGate.check_folder`).
        """
        if table.location is not None:
            self.gate.check_folder(table.location)
            for one in partitions:
                self.gate.check_folder(one.folder(table), table.location)

    def temporary_tables(self) -> list[Table]:
        return list(self._temporary.copy().values())

    # Databases

    def find_database(self, name: str) -> Database | None:
        return self._store.find_database(name.lower())

    def database(self, name: str) -> Database:
        """Look up a database. Raise DatabaseNotFoundError if it is missing."""
        found = self.find_database(name)
        if found is None:
            hint = did_you_mean(name, self.database_names())
            raise DatabaseNotFoundError(f"Database not found {name}", hint=hint)
        return found

    def database_names(self, pattern: str | None = None) -> list[str]:
        return names_matching(set(self._store.database_names()), pattern)

    # Tables

    def find_table(self, database: str, name: str) -> Table | None:
        """Find the session's temporary table of that name, else the permanent one, else None. A lake table is looked up
        in its format, in its current state.
        """
        found = self.find_entry(database, name)
        return self.lakes.current(found) if found is not None and is_lake(found) else found

    def find_entry(self, database: str, name: str) -> Table | None:
        """Like `find_table`, but return a lake table as the catalog stores it, even if it no longer exists
        elsewhere.
        """
        key = (database.lower(), name.lower())
        return self._temporary_in(key[0]).get(key) or self._find_permanent(key)

    def table(self, database: str, name: str) -> Table:
        """Look up a table. Raise TableNotFoundError if it is missing, DatabaseNotFoundError if the database is."""
        found = self.find_table(database, name)
        if found is None:
            self._place(database)
            hint = did_you_mean(name, self.table_names(database))
            raise TableNotFoundError(f"Table not found {name}", hint=hint)
        return found

    def _temporary_in(self, database: str) -> dict[tuple[str, str], Table]:
        """Return temporary tables and views by database and name, including the ones in `database`."""
        return self._global if database == GLOBAL_TEMP else self._temporary

    def _place(self, database: str) -> str:
        """Return the name of a database that may have tables. Raise DatabaseNotFoundError if it is missing."""
        name = database.lower()
        return name if name == GLOBAL_TEMP else self.database(name).name

    def table_names(self, database: str, pattern: str | None = None, *, views_only: bool = False) -> list[str]:
        if (system := self._system_tables(database)) is not None:
            return [] if views_only else names_matching(system, pattern)
        if views_only:
            return names_matching(
                {table.name for table in self.tables(database) if table.is_view and not table.has_state}, pattern
            )
        key = self._place(database)
        permanent = {name for name in self._store.table_names(key) if not name.startswith(STATE_PREFIX)}
        return names_matching(
            permanent | {name for place, name in self._temporary_in(key).copy() if place == key}, pattern
        )

    def tables(self, database: str, *, with_states: bool = False) -> list[Table]:
        """Return the tables and views of a database by name. Temporary ones replace permanent ones of the same name.
        State tables are included only if `with_states`.
        """
        key = self._place(database)
        found = {table.name: table for table in self._store.tables(key) if with_states or not table.is_state}
        found |= {name: table for (place, name), table in self._temporary_in(key).copy().items() if place == key}
        return [found[name] for name in sorted(found)]

    def state_table(self, table: Table) -> Table | None:
        """Return the state table of a continuous table, or None if it has no state."""
        return self._find_permanent((table.database, table.state_name)) if table.has_state else None

    def named(self, query: ContinuousQuery) -> Table | None:
        """Return the table, insert or sink that names a continuous query, or None if it was dropped."""
        return self._shown_table(query.table_id)

    def source_of(self, stream: Table) -> Table | None:
        """Return the table that this stream follows, or None if it was dropped or the stream has another source."""
        table_id = self.streams.feeding(stream.table_id)
        return None if table_id is None else self._shown_table(table_id)

    def _shown_table(self, table_id: str) -> Table | None:
        """Return a table by its id. For a state table, return the table that users see."""
        table = self.current_table(table_id)
        return self.current_table(table.state_of) if table is not None and table.is_state else table

    def current_table(self, table_id: str) -> Table | None:
        """Find a permanent table by its id, whatever its name."""
        return self._store.current(Table(table_id, "", "", TableKind.MANAGED, Schema(())))

    def current_tables(self, table_ids: Collection[str]) -> dict[str, Table]:
        """Return permanent tables by their ids, without dropped ones."""
        return self._store.current_ones(table_ids)

    def managed_location(self, database: str, name: str) -> str:
        return uri.join(self.database(database).location, folder_name(name.lower()))

    def _find_permanent(self, key: tuple[str, str]) -> Table | None:
        return self._store.find(*key)

    # Their committed state

    def partitions(self, table: Table) -> PartitionList:
        """Return the Hive partitions of a partitioned table by name, currently or at the epoch at which it is read.

        Raise BindError 22023 if that epoch is not kept.
        """
        if not table.is_partitioned:
            return NO_PARTITIONS
        return self._store.partitions(table) if table.as_of is None else self._partitions_of_then(table, table.as_of)

    def _partitions_of_then(self, table: Table, point: VersionPoint) -> PartitionList:
        with self._file.reading():
            if not table.continuous:
                version = self.history.wanted(table.base_id, table.qualified_name, point)
                current = self._store.partitions(dataclasses.replace(table, table_id=table.base_id))
                return partitions_read(self._file, table, version, current, self.log)
            epoch = self.streams.epochs.wanted(table.continuous, table.qualified_name, point)
            query = self.streams.find(table.continuous)
            now = None if query is None else self.current_table(query.table_id)
            known = NO_PARTITIONS if now is None else self.partitions(now)
            undone = self.streams.epochs.undone(table.continuous, epoch.number)
        return partitions_before(known, undone)

    def folder_owners(self) -> FindOwners:
        """Return `TableStore.folder_owners`, with the session's temporary tables."""
        permanent, temporary = self._store.folder_owners(), list(table_owners(self.temporary_tables()))
        return lambda place, with_links: (*permanent(place, with_links), *temporary)

    def newest_generation(self, table: Table) -> int | None:
        """Return the last committed generation of a table without Hive partitions, or None if all generations in its
        folder count.

        Inside a transaction, ask again: an ordinary table may have become the target of a continuous query. Raise
        BindError 22023 if the table is read at an epoch that is not kept.
        """
        if table.is_partitioned:
            return None
        if table.as_of is not None and not table.continuous:
            return self.history.wanted(table.base_id, table.qualified_name, table.as_of)
        if table.as_of is not None:
            return self.streams.epochs.wanted(table.continuous, table.qualified_name, table.as_of).generation
        if not table.is_stored or self.is_shared or table.kind in TEMPORARY_KINDS:
            return None
        newest = self.streams.newest(table.table_id)
        return 0 if newest is None and table.continuous else newest

    def oldest_generation(self, table: Table, partition: str) -> int | None:
        """Return the last generation of a table or its Hive partition that all kept epochs of a continuous table share,
        or None if they share all.
        """
        if not table.continuous:
            return None
        if not table.is_partitioned:
            return self.streams.epochs.oldest_generation(table.table_id)
        with self._file.reading():
            undone = self.streams.epochs.undone_by_oldest(table.continuous)
            changed = self.partitions(table).find(partition)
        if changed is None or changed.partition_id not in undone:
            return None
        return undone[changed.partition_id] or 0

    def published(self, tables: Iterable[Table]) -> dict[str, CommittedFiles]:
        """Return the committed state of tables by their ids, all at one moment. Tables whose writes the catalog does
        not track are left out.
        """
        found: dict[str, CommittedFiles] = {}
        if self.is_shared:
            return found
        with self._file.reading():
            for table in tables:
                if table.is_partitioned:
                    found[table.table_id] = CommittedFiles(partitions=self.partitions(table))
                elif (newest := self.newest_generation(table)) is not None:
                    found[table.table_id] = CommittedFiles(newest)
        return found

    def statistics(self, table: Table) -> dict[str, TableStatistics]:
        """Return the figures of ANALYZE TABLE by Hive partition, or under the empty name for a table without them."""
        rows = self._file.rows("SELECT partition, body FROM statistics_ WHERE table_id = ?", table.table_id)
        return {partition: statistics_from_json(body) for partition, body in rows}

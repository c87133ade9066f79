"""Store of databases, tables and Hive partitions in a Hive metastore."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from sharkpy.base import uri
from sharkpy.base.errors import SharkError, TableNotFoundError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.database_file import CatalogFile
from sharkpy.catalog.hive_partition import HivePartition, partition_texts
from sharkpy.catalog.metastore_structs import (
    Body,
    MetastoreClient,
    body_of_database,
    body_of_partition,
    body_of_table,
    database_of,
    partition_of,
    table_of,
    without_statistics,
)
from sharkpy.catalog.model import Database, StorageFormat, Table
from sharkpy.catalog.names import DEFAULT_DATABASE, folder_name
from sharkpy.catalog.partition_cache import read_partitions
from sharkpy.catalog.partition_list import PartitionList
from sharkpy.catalog.table_store import FindOwners, FolderOwner, PartitionChanges, table_owners
from sharkpy.values.types import Schema

ChangedPartitions = Sequence[tuple[HivePartition, HivePartition]]


@dataclass(frozen=True, slots=True)
class _Mirrored:
    """Hive partitions of a table: the metastore's text, and the objects decoded from it."""

    table: Table
    text: str
    bodies: dict[str, Body]
    partitions: PartitionList


class HiveTables:
    """`TableStore` on a Hive metastore. Each call asks the metastore, so that changes by other systems are seen.

    1. A table is decoded again only if its text in the metastore has changed.
    2. Hive partitions are mirrored in the catalog's file, which gives them ids.
    3. The metastore has no transactions: a failed transaction undoes its changes.
    """

    is_shared = True

    def __init__(self, file: CatalogFile, client: MetastoreClient) -> None:
        self._file = file
        self._client = client
        self._known: dict[tuple[str, str], tuple[str, Body, Table]] = {}
        self._names: dict[str, tuple[str, str]] = {}
        self._mirrored: dict[str, _Mirrored] = {}
        self._undo: list[Callable[[], object]] | None = None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._file.transaction():
            if self._undo is not None:
                yield
                return
            self._undo = []
            try:
                yield
            except BaseException:
                for undo in reversed(self._undo):
                    with suppress(SharkError):
                        undo()
                self._mirrored.clear()
                raise
            finally:
                self._undo = None

    def _undo_by(self, undo: Callable[[], object]) -> None:
        if self._undo is not None:
            self._undo.append(undo)

    # Databases

    def find_database(self, name: str) -> Database | None:
        body = self._client.database(name)
        return None if body is None else database_of(body)

    def database_names(self) -> list[str]:
        return self._client.database_names()

    def database_location(self, name: str) -> str:
        """Return the folder of a new database: in the folder of the default database, as in Hive."""
        default = self.find_database(DEFAULT_DATABASE)
        return uri.join(default.location if default else "", folder_name(name, ".db"))

    def put_database(self, database: Database) -> None:
        if self._client.database(database.name) is None:
            self._client.create_database(body_of_database(database))
            self._undo_by(lambda: self._client.drop_database(database.name))
        else:
            self._client.alter_database(body_of_database(database))

    def remove_database(self, name: str) -> None:
        self._client.drop_database(name)

    # Tables

    def find(self, database: str, name: str) -> Table | None:
        text = self._client.table_text(database, name)
        return None if text is None else self._table(text)[1]

    def current(self, table: Table) -> Table | None:
        database, name = self._names.get(table.table_id, (table.database, table.name))
        found = self.find(database, name)
        return found if found == table else None

    def current_ones(self, table_ids: Collection[str]) -> dict[str, Table]:
        found = (self.find(*self._names[one]) for one in table_ids if one in self._names)
        return {table.table_id: table for table in found if table is not None and table.table_id in table_ids}

    def table_names(self, database: str) -> list[str]:
        return self._client.table_names(database)

    def tables(self, database: str) -> list[Table]:
        """Return the tables of a database that can be read here."""
        found = []
        for text in self._client.table_texts(database, self._client.table_names(database)):
            with suppress(UnsupportedError):
                found.append(self._table(text)[1])
        return found

    def add(self, table: Table) -> None:
        self._client.create_table(body_of_table(table))
        self._undo_by(lambda: self._client.drop_table(table.database, table.name))

    def alter(self, old: Table, new: Table, kept: ChangedPartitions, cascade: bool) -> None:
        body = self._body(old)
        provider = (body.get("parameters") or {}).get("spark.sql.sources.provider", "hive")
        if provider != "hive" and (old.schema != new.schema or old.storage != new.storage):
            raise UnsupportedError(
                f"changing columns or format of {old.qualified_name}, a {provider} table of Spark, is not supported",
                hint="Spark stores these in its own properties: change them in Spark",
            )
        before = {one.name: one for one in self.partitions(old)} if old.is_partitioned else {}
        self._client.alter_table(old.database, old.name, body_of_table(new, body), cascade)
        self._undo_by(lambda: self._client.alter_table(new.database, new.name, body, False))
        wanted = {one.name: after for one, after in kept}
        if not new.is_partitioned:
            return
        with self.partition_changes(new) as changes:
            for one in list(changes.known.values()):
                after = wanted.get(one.name, one)
                if one.name in before and before[one.name].location is None:
                    after = dataclasses.replace(after, location=None)
                if after != one:
                    changes.alter(one, after)

    def remove(self, table: Table) -> None:
        body = self._body(table)
        bodies = self._partition_bodies(table) if table.is_partitioned else {}
        self._client.drop_table(table.database, table.name)
        self._undo_by(lambda: self._client.add_partitions(list(bodies.values())) if bodies else None)
        self._undo_by(lambda: self._client.create_table(body))
        self._file.run("DELETE FROM partition_ WHERE table_id = ?", table.table_id)
        self._mirrored.pop(table.table_id, None)

    def _table(self, text: str) -> tuple[Body, Table]:
        body = json.loads(text)
        key = (body["dbName"], body["tableName"])
        known = self._known.get(key)
        if known is None or known[0] != text:
            table = table_of(body)
            known = self._known[key] = (text, body, table)
            self._names[table.table_id] = key
        return known[1], known[2]

    def _body(self, table: Table) -> Body:
        text = self._client.table_text(table.database, table.name)
        if text is None:
            raise TableNotFoundError(f"Table not found {table.name}")
        return self._table(text)[0]

    def note_written(self, table: Table) -> None:
        """Drop other systems' counts of rows and bytes, which a write makes wrong."""
        body = self._body(table)
        parameters = without_statistics(body.get("parameters") or {})
        if parameters != body.get("parameters"):
            self._client.alter_table(table.database, table.name, body | {"parameters": parameters}, False)

    # Hive partitions

    def partitions(self, table: Table) -> PartitionList:
        text = self._client.partitions_text(table.database, table.name)
        known = self._mirrored.get(table.table_id)
        if known is None or known.text != text or known.table is not table:
            known = self._mirrored[table.table_id] = _Mirrored(table, text, *self._mirror(table, text))
        return known.partitions

    def _mirror(self, table: Table, text: str) -> tuple[dict[str, Body], PartitionList]:
        """Mirror the Hive partitions of `text` in the catalog's file. Known ones keep their ids."""
        table_body = self._body(table)
        bodies: dict[str, Body] = {}
        there: dict[str, HivePartition] = {}
        for body in json.loads(text)["partitions"]:
            one = partition_of(body, table_body, table, 0)
            bodies[one.name], there[one.name] = body, one
        before = read_partitions(self._file, table.table_id)
        known = {one.name: one for one in before}
        if any(name not in there for name in known) or any(not _is_same(known.get(n), there[n]) for n in there):
            with self._file.transaction():
                changes = PartitionChanges(self._file, table, before)
                changes.drop([one for name, one in known.items() if name not in there], with_data=False)
                for name, one in there.items():
                    if name not in known:
                        changes.add(name, one.location, None, one.storage, one.columns)
                    elif not _is_same(known[name], one):
                        changes.alter(known[name], one)
        return bodies, read_partitions(self._file, table.table_id)

    def folder_owners(self) -> FindOwners:
        """List all owners: the metastore cannot be searched by location."""
        found = list(self._owners())
        return lambda _place, _with_links: found

    def _owners(self) -> Iterator[FolderOwner]:
        rows = self._file.rows("SELECT DISTINCT table_id FROM partition_ WHERE folder IS NOT NULL")
        placed = {table_id for (table_id,) in rows}
        for name in self.database_names():
            if (database := self.find_database(name)) is not None:
                yield FolderOwner(database, database.location)
            tables = self.tables(name)
            yield from table_owners(tables)
            for table in (one for one in tables if one.table_id in placed):
                partitions = self.partitions(table)
                yield from (FolderOwner(table, one.location, one.name) for one in partitions if one.location)

    def _partition_bodies(self, table: Table) -> dict[str, Body]:
        self.partitions(table)
        return self._mirrored[table.table_id].bodies

    @contextmanager
    def partition_changes(self, table: Table) -> Iterator[PartitionChanges]:
        """Collect changes to Hive partitions. They are sent to the metastore together, at the end."""
        if not table.is_partitioned:
            yield PartitionChanges(self._file, table, PartitionList())
            return
        before = self.partitions(table)
        bodies = dict(self._mirrored[table.table_id].bodies)
        changes = MetastoreChanges(self._file, table, before)
        yield changes
        self._mirrored.pop(table.table_id, None)
        self._drop(table, changes.dropped, bodies)
        table_body = self._body(table)
        self._add(table, [body_of_partition(one, table, table_body, bodies.get(was)) for was, one in changes.added])
        self._alter(table, changes.altered, bodies)

    def _drop(self, table: Table, names: Iterable[str], bodies: dict[str, Body]) -> None:
        for name in names:
            self._client.drop_partition(table.database, table.name, partition_texts(name))
            self._undo_by(partial(self._client.add_partitions, [bodies[name]]))

    def _add(self, table: Table, added: Sequence[Body]) -> None:
        if not added:
            return
        self._client.add_partitions(added)
        for body in added:
            self._undo_by(partial(self._client.drop_partition, table.database, table.name, body["values"]))

    def _alter(self, table: Table, altered: Sequence[HivePartition], bodies: dict[str, Body]) -> None:
        if not altered:
            return
        table_body, old = self._body(table), [bodies[one.name] for one in altered]
        new = [body_of_partition(one, table, table_body, bodies[one.name]) for one in altered]
        self._client.alter_partitions(table.database, table.name, new)
        self._undo_by(lambda: self._client.alter_partitions(table.database, table.name, old))


def _is_same(known: HivePartition | None, there: HivePartition) -> bool:
    return known is not None and dataclasses.replace(known, partition_id=0) == there


class MetastoreChanges(PartitionChanges):
    """Collected changes. A renamed Hive partition is dropped and added, since the metastore would move its folder
    itself.

    `added` has pairs of the former name (the current one for a new Hive partition) and the Hive partition.
    """

    def __init__(self, file: CatalogFile, table: Table, before: PartitionList) -> None:
        super().__init__(file, table, before)
        self._added: dict[str, tuple[str, HivePartition]] = {}
        self._altered: dict[str, HivePartition] = {}
        self.dropped: list[str] = []

    @property
    def added(self) -> list[tuple[str, HivePartition]]:
        return list(self._added.values())

    @property
    def altered(self) -> list[HivePartition]:
        return list(self._altered.values())

    def add(
        self,
        name: str,
        location: str | None = None,
        newest: int | None = None,  # noqa: ARG002 - other systems' files have no generations
        storage: StorageFormat | None = None,
        columns: Schema | None = None,
    ) -> HivePartition:
        one = super().add(name, location, None, storage, columns)
        self._added[name] = (name, one)
        return one

    def alter(self, old: HivePartition, new: HivePartition) -> None:
        new = dataclasses.replace(new, newest=None)
        super().alter(old, new)
        if old.name in self._added:
            was, _ = self._added.pop(old.name)
            self._added[new.name] = (was, new)
        elif old.name == new.name:
            self._altered[new.name] = new
        else:
            self.dropped.append(old.name)
            self._added[new.name] = (old.name, new)

    def drop(self, partitions: Iterable[HivePartition], *, with_data: bool) -> None:
        gone = list(partitions)
        super().drop(gone, with_data=with_data)
        for one in gone:
            self._altered.pop(one.name, None)
            if self._added.pop(one.name, None) is None:
                self.dropped.append(one.name)

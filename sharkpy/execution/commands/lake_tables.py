"""Statements about lake tables: creation, changes and writes, and the statements that they do not support."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from sharkpy.base import uri
from sharkpy.base.errors import TableExistsError, UnsupportedError
from sharkpy.base.users import user_name
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.lake_tables import Replaced, check_lake_place
from sharkpy.catalog.model import StorageFormat, Table, TableKind
from sharkpy.catalog.path_gate import path_or_uri
from sharkpy.catalog.trash import Leavings
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.shared_source import num_changed_rows, shared_source, with_update_count
from sharkpy.execution.commands.storage import (
    EXTERNAL,
    check_properties,
    is_occupied,
    managed_folder,
    stored_query,
    stored_schema,
    with_cache_property,
)
from sharkpy.execution.commands.tables import COMMENT, check_purge, release_dropped
from sharkpy.execution.commands.writes.lake_write import LakeWrite
from sharkpy.execution.commands.writes.staged_write import StagedWrite, discarding, publish
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan import commands
from sharkpy.plan.logical import LogicalPlan
from sharkpy.plan.subqueries import read_tables
from sharkpy.sources.lake.lake_table import LakeTable
from sharkpy.sources.remote_files import has_files

if TYPE_CHECKING:
    from sharkpy.execution.tables.snapshot import QuerySnapshot

_NAME = "name"
_CATALOG, _OWN_CATALOG = "iceberg.catalog", "default"
_HAS_NAMES = "iceberg"
"""Format whose own catalogs name tables."""
_OWN = ("shark.", "iceberg.", "external.")
"""Prefixes of properties that belong to the engine, not to the format."""


def create_lake_table(command: commands.CreateTable, session: EngineSession, snapshot: QuerySnapshot) -> CommandResult:
    """Create a table in its format, with the query's rows if given, then its catalog entry."""
    catalog = session.catalog
    lake = "" if command.storage is None else command.storage.name
    if catalog.is_shared:
        raise UnsupportedError(f"CREATE TABLE of {lake} in a metastore is not supported")
    old = catalog.find_entry(command.database, command.name)
    if old is not None and command.if_not_exists:
        return NOTHING
    if old is not None and (not command.or_replace or old.is_view or old.streaming_kind):
        raise TableExistsError(f'table "{command.name}" already exists')
    if old is not None and (table := _of_same_form(command, old, session)) is not None:
        _replace_rows(table, command.query, session, snapshot)
        return NOTHING
    given = _new_entry(command, session, old)
    is_new_folder = given.location is not None and not has_files(given.location, catalog.access_id(given.location))
    entry = catalog.lakes.create(given, command.divided_by)
    try:
        if given.location is None and entry.location is not None:
            session.restrictions.check_location(entry.location)
        if command.query is not None:
            _write_rows(entry, command.query, session, snapshot)
        catalog.create_table(entry, replace=command.or_replace)
    except BaseException:
        if command.schema.fields:
            catalog.lakes.drop(entry)
            if is_new_folder:
                _remove_new(entry.location or "", session)
        raise
    snapshot.release()
    if old is not None:
        release_dropped(old, catalog, session.table_cache)
    return NOTHING


def _of_same_form(command: commands.CreateTable, old: Table, session: EngineSession) -> LakeTable | None:
    """Return the replaced table if CREATE OR REPLACE changes only its rows. The table then keeps its history."""
    if command.storage is None or old.storage.name != command.storage.name:
        return None
    table = session.catalog.lakes.current(old)
    assert isinstance(table, LakeTable)  # `current` returns one
    wanted, known = stored_schema(command.schema).fields, table.schema.fields
    given = {key: value for key, value in command.properties if key != EXTERNAL}
    found = dict(table.properties) | dict(old.properties)
    is_same = (
        [(one.name, one.dtype, one.comment) for one in wanted] == [(one.name, one.dtype, one.comment) for one in known]
        and list(map(str, command.divided_by)) == list(map(str, table.divided_by))
        and command.location in (None, old.location)
        and command.comment == old.comment
        and all(found.get(key) == value for key, value in given.items())
    )
    return table if is_same else None


def _replace_rows(table: LakeTable, query: LogicalPlan | None, session: EngineSession, snapshot: QuerySnapshot) -> None:
    write = LakeWrite.begin(table, Replaced.ALL, session)
    with discarding([write]):
        if query is not None:
            write.stage(stored_query(query, table.schema), snapshot)
        snapshot.release()
        publish([write], session.catalog)


def _remove_new(location: str, session: EngineSession) -> None:
    if uri.is_remote(location):
        session.catalog.surroundings.remove_folder(location, Leavings())
    else:
        session.catalog.trash.discard(location)


def _write_rows(entry: Table, query: LogicalPlan, session: EngineSession, snapshot: QuerySnapshot) -> None:
    table = session.catalog.lakes.current(entry)
    assert isinstance(table, LakeTable)  # `current` returns one
    write = LakeWrite.begin(table, Replaced.NOTHING, session)
    with discarding([write]):
        write.stage(stored_query(query, table.schema), snapshot)
        publish([write], session.catalog)


def _new_entry(command: commands.CreateTable, session: EngineSession, old: Table | None) -> Table:
    properties = with_cache_property(command.name, command.properties, session.conf)
    check_properties(properties)
    table_id, kind = new_table_id(), command.kind
    is_named = command.storage is not None and command.storage.name == _HAS_NAMES
    if old is not None and is_named and old.storage.name == _HAS_NAMES and _NAME not in dict(properties):
        # The old table keeps the default name in the format's catalog until the new table exists.
        properties = (*properties, (_NAME, f"{old.qualified_name}_{table_id[:8]}"))
    if kind is TableKind.MANAGED and command.location is not None and command.keeps_location:
        kind = TableKind.EXTERNAL
    if kind is TableKind.MANAGED and not command.schema.fields:
        # A table without declared columns exists already, so this entry does not own it.
        kind = TableKind.EXTERNAL
    location = _location(command, kind, table_id, session)
    return Table(
        table_id,
        session.catalog.database(command.database).name,
        command.name.lower(),
        kind,
        stored_schema(command.schema),
        command.storage or StorageFormat(""),
        location,
        tuple(pair for pair in properties if pair[0] != EXTERNAL),
        command.comment,
        owner=user_name(session.conf),
    )


def _location(command: commands.CreateTable, kind: TableKind, table_id: str, session: EngineSession) -> str | None:
    """Return the folder of a new table, or None if the format's catalog sets it."""
    catalog = session.catalog
    if command.location is not None:
        check_lake_place(command.location)
        folder = managed_folder(command.location, kind, session)
        catalog.clear_garbage(folder)
        return folder
    if not command.schema.fields:
        return None
    if dict(command.properties).get(_CATALOG, _OWN_CATALOG) != _OWN_CATALOG:
        return None
    usual = path_or_uri(catalog.managed_location(command.database, command.name))
    catalog.clear_garbage(usual)
    is_used = catalog.readers.is_read(usual) or is_occupied(usual, session)
    is_free = not (is_used or has_files(usual, catalog.access_id(usual)))
    return usual if is_free else f"{usual}-{table_id[:8]}"


def stage_lake(
    command: commands.Insert,
    table: LakeTable,
    session: EngineSession,
    snapshot: QuerySnapshot,
    writes: list[StagedWrite],
) -> None:
    """Stage the rows of an INSERT. A rewrite that keeps the rows (`keeps_rows`) replaces all files."""
    replaced = Replaced.SAME_VALUES if command.overwrite else Replaced.NOTHING
    replaced = Replaced.ALL if command.keeps_rows else replaced
    write = LakeWrite.begin(table, replaced, session, is_unchanged=command.keeps_rows)
    writes.append(write)
    write.stage(command.query, snapshot)


def _change_rows(command: commands.ChangeRows, table: LakeTable, session: EngineSession, snapshot: Any) -> None:
    """Rewrite the table with the changed rows. Raise TableChangedError if another write has changed it meanwhile."""
    parts = [part for part in (command.rows, command.added) if part is not None]
    snapshot.capture(read_tables(*parts, *([] if command.source is None else [command.source])))
    replaced = Replaced.NOTHING if command.rows is None else Replaced.ALL
    write = LakeWrite.begin(table, replaced, session, is_unchanged=True)
    with discarding([write]):
        with (
            session.as_statement() as statement,
            shared_source(command.source, parts, session, snapshot) as resolved,
        ):
            changed = 0
            if command.rows is not None:
                write.stage(with_update_count(resolved(command.rows), command), snapshot)
                changed = num_changed_rows(command.before, statement, session, snapshot)
            if command.added is not None:
                write.stage(resolved(command.added), snapshot, stem="added")
                changed += statement.rows_written
            statement.rows_written = changed
        snapshot.release()
        publish([write], session.catalog)


def _truncate(command: commands.TruncateTable, table: LakeTable, session: EngineSession, _snapshot: object) -> None:
    if command.partition is not None:
        raise UnsupportedError(
            f"TRUNCATE of partitions of {table.qualified_name}, a table of {table.storage.name}, is not supported"
        )
    publish([LakeWrite.begin(table, Replaced.ALL, session)], session.catalog)


def _alter(command: commands.AlterTable, table: LakeTable, session: EngineSession, _snapshot: object) -> None:
    """Alter columns in the format, and the owner in the catalog. Other changes raise UnsupportedError."""
    altered = command.altered
    same = dataclasses.replace(altered, schema=table.schema, owner=table.owner)
    if any(getattr(same, field.name) != getattr(table, field.name) for field in dataclasses.fields(Table)):
        what = "this clause of ALTER TABLE for"
        raise UnsupportedError(f"{what} {table.qualified_name}, a table of {table.storage.name}, is not supported")
    if altered.schema != table.schema:
        session.catalog.lakes.alter(table, stored_schema(altered.schema), command.renamed)
    entry = _entry(table, session)
    if altered.owner != entry.owner:
        session.catalog.alter_table(dataclasses.replace(entry, owner=altered.owner), was=entry)


def _rename(command: commands.RenameTable, table: LakeTable, session: EngineSession, _snapshot: object) -> None:
    """Rename a table in this catalog; the format's own catalog keeps its name."""
    entry = _entry(table, session)
    given = dict(entry.properties)
    if given.get("iceberg.catalog") != "location_based_table":
        given.setdefault(_NAME, entry.qualified_name)
    renamed = dataclasses.replace(entry, database=command.database, name=command.name, properties=tuple(given.items()))
    session.catalog.alter_table(renamed, was=entry)


def _set_properties(
    command: commands.SetTableProperties, table: LakeTable, session: EngineSession, _snapshot: object
) -> None:
    """Set properties: the engine's own in the catalog, the others in the format."""
    check_properties(command.properties)
    given = dict(command.properties)
    if EXTERNAL in given:
        raise UnsupportedError(
            f"changing {EXTERNAL} of {table.qualified_name}, a table of {table.storage.name}, is not supported"
        )
    entry = _entry(table, session)
    _check_same_place(entry, given, command.unset)
    check_purge(entry, given, session)
    comment = given.pop(COMMENT, entry.comment)
    own = {key: value for key, value in given.items() if key.startswith(_OWN)}
    kept = {key: value for key, value in (dict(entry.properties) | own).items() if key not in command.unset}
    others = {key: value for key, value in given.items() if key not in own}
    unset = tuple(key for key in command.unset if not key.startswith(_OWN))
    if others or unset:
        session.catalog.lakes.set_properties(table, others, unset)
    altered = dataclasses.replace(entry, properties=tuple(kept.items()), comment=comment)
    session.catalog.alter_table(altered, was=entry)
    session.table_cache.properties_changed(entry, altered)


def _check_same_place(entry: Table, given: Mapping[str, str], unset: Collection[str]) -> None:
    """Raise UnsupportedError if properties would point the entry to another table, which DROP would then drop."""
    known = dict(entry.properties)
    for key in (_CATALOG, _NAME):
        if known.get(key) != (None if key in unset else given.get(key, known.get(key))):
            raise UnsupportedError(
                f"changing {key} of {entry.qualified_name}, a table of {entry.storage.name}, is not supported"
            )


def _entry(table: LakeTable, session: EngineSession) -> Table:
    """Return the table's entry in the catalog."""
    session.catalog.require(table)
    found = session.catalog.find_entry(table.database, table.name)
    assert found is not None  # `require` has checked it
    return found


_CHANGES: dict[type[commands.Command], Callable[[Any, LakeTable, EngineSession, Any], None]] = {
    commands.ChangeRows: _change_rows,
    commands.TruncateTable: _truncate,
    commands.AlterTable: _alter,
    commands.RenameTable: _rename,
    commands.SetTableProperties: _set_properties,
}
"""Commands that change a lake table in a way of its own."""
_REFUSED: dict[type[commands.Command], str] = {
    commands.LoadData: "LOAD DATA into",
    commands.ExportTable: "EXPORT of",
    commands.AnalyzeTable: "ANALYZE of",
    commands.UpdateStatistics: "UPDATE STATISTICS of",
    commands.AlterPartition: "ALTER PARTITION of",
    commands.AddPartitions: "ADD PARTITION of",
    commands.DropPartitions: "DROP PARTITION of",
    commands.RenamePartition: "RENAME PARTITION of",
    commands.ExchangePartition: "EXCHANGE PARTITION of",
    commands.RepairTable: "MSCK REPAIR of",
}


def run_for_lake(command: commands.Command, session: EngineSession, snapshot: QuerySnapshot) -> CommandResult | None:
    """Run a command that lake tables implement themselves; return None for any other.

    Raise UnsupportedError for a command that lake tables do not support.
    """
    table = getattr(command, "table", None)
    if not isinstance(table, LakeTable):
        return None
    if (refused := _REFUSED.get(type(command))) is not None:
        raise UnsupportedError(f"{refused} {table.qualified_name}, a table of {table.storage.name}, is not supported")
    change = _CHANGES.get(type(command))
    if change is None:
        return None
    change(command, table, session, snapshot)
    return NOTHING

"""Targets of continuous inserts: ordinary tables, whose committed generations the catalog then records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from sharkpy.base.errors import BindError, UnsupportedError
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.model import CacheMode, Table, TableKind
from sharkpy.plan.commands import Insert, MultiInsert, StateInserts
from sharkpy.sources.folders.table_folder import table_folder

Inserts: TypeAlias = Insert | MultiInsert | StateInserts


def targets_of(inserts: Inserts) -> tuple[Table, ...]:
    """Return the tables that INSERTs write, each once, except the table of a state."""
    match inserts:
        case MultiInsert():
            branches = inserts.inserts
        case StateInserts():
            branches = inserts.given
        case _:
            branches = (inserts,)
    return tuple(dict.fromkeys(one.table for one in branches if isinstance(one, Insert)))


def target_ids(inserts: Inserts) -> tuple[str, ...]:
    return tuple(sorted(table.table_id for table in targets_of(inserts)))


def check_target(table: Table, role: str = "target of a continuous insert") -> None:
    """Raise UnsupportedError if the rows of a table could not be written exactly once.

    `role` is the use of the table.
    """
    if table.cache_mode is CacheMode.MEMORY_ONLY:
        raise UnsupportedError(f"{table.qualified_name}, which is MEMORY_ONLY, as {role}")
    if table.kind is not TableKind.MANAGED:
        hint = "it has to be a table of the warehouse whose files are the engine's"
        raise UnsupportedError(f"{table.qualified_name}, which is not managed, as {role}", hint=hint)


def check_targets(inserts: Inserts, known: tuple[str, ...]) -> None:
    """Raise BindError if INSERTs write other tables than `known`, by id: one was dropped and made again."""
    if target_ids(inserts) != known:
        message = "the continuous insert writes other tables than when it was made"
        raise BindError(message, hint="ALTER CONTINUOUS INSERT name AS … gives it the tables of now")
    for table in targets_of(inserts):
        check_target(table)


def become_targets(tables: Iterable[Table], catalog: Catalog) -> None:
    """Let the catalog record from now on which generations of tables count.

    Call this in a transaction of the catalog, in which no other process writes the tables. Every later write increases
    the recorded number, users' own writes too. The record stays when the continuous insert is dropped; it does no harm.
    """
    for table in tables:
        check_target(table)
        catalog.require(table)
        if not table.is_partitioned and catalog.newest_generation(table) is None:
            newest = table_folder(table.location or "", catalog.access_id).newest()
            catalog.streams.set_newest(table.table_id, newest)

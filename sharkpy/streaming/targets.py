"""Targets of continuous inserts: ordinary tables, of which the catalog knows from then on what counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from sharkpy.base.errors import BindError, UnsupportedError
from sharkpy.catalog.model import CacheMode, Table, TableKind
from sharkpy.catalog.store import Catalog
from sharkpy.plan.commands import Insert, MultiInsert, StateInserts
from sharkpy.sources.folders.table_folder import table_folder

Inserts: TypeAlias = Insert | MultiInsert | StateInserts


def targets_of(inserts: Inserts) -> tuple[Table, ...]:
    """Tables that INSERTs write, each once; that of a state is none of them."""
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
    """UnsupportedError for a table whose rows could not come exactly once, which the statement wants in some role."""
    if table.cache_mode is CacheMode.MEMORY_ONLY:
        raise UnsupportedError(f"{table.qualified_name}, which is MEMORY_ONLY, as {role}")
    if table.kind is not TableKind.MANAGED:
        hint = "it has to be a table of the warehouse whose files are the engine's"
        raise UnsupportedError(f"{table.qualified_name}, which is not managed, as {role}", hint=hint)


def check_targets(inserts: Inserts, known: tuple[str, ...]) -> None:
    """BindError if INSERTs write other tables than those with the ids `known`: one was dropped and made again."""
    if target_ids(inserts) != known:
        message = "the continuous insert writes other tables than when it was made"
        raise BindError(message, hint="ALTER CONTINUOUS INSERT name AS … gives it the tables of now")
    for table in targets_of(inserts):
        check_target(table)


def become_targets(tables: Iterable[Table], catalog: Catalog) -> None:
    """Let the catalog tell from now on which generations of some tables count; inside a transaction of it, in which
    nobody else writes them.

    Each write raises that number, people's own too. It stays when the continuous insert goes: it does no harm.
    """
    for table in tables:
        check_target(table)
        catalog.require(table)
        if not table.is_partitioned and catalog.newest_generation(table) is None:
            newest = table_folder(table.location or "", catalog.access_id).newest()
            catalog.streams.set_newest(table.table_id, newest)

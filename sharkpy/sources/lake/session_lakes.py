"""Lake tables of an engine, with the access of its sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import InternalError
from sharkpy.catalog.lake_tables import LakePoint, NewFile, PartitionField, Replaced, check_lake_place, lake_path
from sharkpy.catalog.model import Table
from sharkpy.catalog.path_gate import PathGate
from sharkpy.catalog.system_tables import SystemTable
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.sources.lake.known_lakes import KnownLakes
    from sharkpy.sources.lake.lake_format import LakeFormat
    from sharkpy.sources.lake.lake_reach import LakeReach
    from sharkpy.sources.lake.lake_table import LakeTable


class SessionLakes:
    """Lake tables for one session, by the formats of its engine."""

    def __init__(self, lakes: Callable[[], KnownLakes], reach: LakeReach) -> None:
        self._lakes = lakes
        self._reach = reach

    def current(self, entry: Table) -> Table:
        if entry.location is not None:
            check_lake_place(entry.location)
        return self._of(entry).load(entry, self._reach)

    def at(self, table: Table, point: LakePoint) -> Table:
        return self._of(table).at(_lake_table(table), point)

    def named(self, word: str, place: str, gate: PathGate) -> Table:
        found = lake_path(place) if uri.is_remote(place) else gate.check(place)
        return self._lakes().format(word).named(found, self._reach)

    def facts(self, table: Table, what: str) -> SystemTable:
        return self._of(table).facts(_lake_table(table), what)

    def create(self, table: Table, fields: Sequence[PartitionField]) -> Table:
        return self._of(table).create(table, fields, self._reach)

    def drop(self, entry: Table) -> None:
        self._of(entry).drop(entry, self._reach)

    def alter(self, table: Table, schema: Schema, renamed: tuple[str, str] | None) -> None:
        self._of(table).alter(_lake_table(table), schema, renamed)

    def partition_fields(self, table: Table) -> tuple[PartitionField, ...]:
        return self._of(table).partition_fields(_lake_table(table))

    def set_properties(self, table: Table, given: Mapping[str, str], unset: Sequence[str]) -> None:
        self._of(table).set_properties(_lake_table(table), given, unset)

    def commit(self, table: Table, files: Sequence[NewFile], *, replaced: Replaced, is_unchanged: bool) -> None:
        with self._lakes().committing(table):
            self._of(table).commit(_lake_table(table), files, replaced=replaced, is_unchanged=is_unchanged)

    def access_id(self, table: Table, place: str) -> str:
        return self._of(table).access_id(_lake_table(table), place)

    def _of(self, table: Table) -> LakeFormat:
        return self._lakes().format(table.storage.name)


def _lake_table(table: Table) -> LakeTable:
    from sharkpy.sources.lake.lake_table import LakeTable

    if not isinstance(table, LakeTable):
        raise InternalError(f"{table.qualified_name} is the entry of a lake table, not the table")
    return table

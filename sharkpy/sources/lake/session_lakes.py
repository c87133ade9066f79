"""Lake formats of an engine, and its lake tables with the access of one session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.cancellation import cancellable_lock
from sharkpy.base.errors import ConfigurationError, InternalError
from sharkpy.catalog.lake_tables import NewFile, PartitionField, Replaced, check_lake_place, lake_path
from sharkpy.catalog.model import Table
from sharkpy.catalog.path_gate import PathGate
from sharkpy.catalog.system_tables import SystemTable
from sharkpy.catalog.table_history import VersionPoint
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.sources.lake.lake_format import LakeFormat, LakeHome, LakeReach
    from sharkpy.sources.lake.lake_table import LakeTable


class SessionLakes:
    """Lake tables for one session, by the formats of its engine."""

    def __init__(self, lakes: Callable[[], LakeFormats], reach: LakeReach) -> None:
        self._lakes = lakes
        self._reach = reach

    def current(self, entry: Table) -> Table:
        if entry.location is not None:
            check_lake_place(entry.location)
        return self._of(entry).load(entry, self._reach)

    def at(self, table: Table, point: VersionPoint) -> Table:
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


def _iceberg(home: LakeHome) -> LakeFormat:
    from sharkpy.sources.lake.iceberg.iceberg_format import IcebergFormat

    return IcebergFormat(home)


def _delta(home: LakeHome) -> LakeFormat:  # noqa: ARG001 - it has no catalogs
    from sharkpy.sources.lake.delta_format import DeltaFormat

    return DeltaFormat()


_FORMATS: dict[str, Callable[[LakeHome], LakeFormat]] = {"iceberg": _iceberg, "delta": _delta}
"""Formats by name. Their packages are large, so they are imported by the first statement that needs them."""

_COMMITS = 64
"""Number of locks: at most this many tables are committed to at a time."""


class LakeFormats:
    """Formats of an engine, each made when it is first needed. Safe to use from several threads."""

    def __init__(self, home: LakeHome) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._made: dict[str, LakeFormat] = {}
        self._commits = tuple(threading.Lock() for _ in range(_COMMITS))

    def committing(self, table: Table) -> AbstractContextManager[None]:
        """Hold the lock for commits to a table, to save sessions of one engine from conflicts and retries."""
        return cancellable_lock(self._commits[hash(table.table_id) % _COMMITS])

    def format(self, name: str) -> LakeFormat:
        """Format of a name; ConfigurationError if the package that it needs is not installed."""
        with self._lock:
            if name not in self._made:
                try:
                    self._made[name] = _FORMATS[name](self._home)
                except ImportError as error:
                    message = f"tables of the format {name} need the package {error.name}"
                    hint = f"pip install 'sharkpy[{name}]'"
                    raise ConfigurationError(message, hint=hint, sqlstate="F0000") from None
            return self._made[name]

    def close(self) -> None:
        with self._lock:
            for made in self._made.values():
                made.close()
            self._made.clear()

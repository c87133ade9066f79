"""Protocol of the lake formats: the operations that `LakeTables` needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sharkpy.catalog.lake_tables import LakePoint, NewFile, PartitionField, Replaced
from sharkpy.catalog.model import Table
from sharkpy.catalog.system_tables import SystemTable
from sharkpy.sources.lake.lake_reach import LakeReach
from sharkpy.sources.lake.lake_table import LakeTable
from sharkpy.values.types import Schema


@dataclass(frozen=True, slots=True)
class LakeHome:
    """Folders of the engine's state and of its warehouse."""

    state_dir: str
    warehouse_dir: str
    is_read_only: bool


class LakeFormat(Protocol):
    """A lake format. Safe to use from several threads; see `sharkpy.catalog.lake_tables.LakeTables`.

    1. `load` returns the current version of a table, the same object while nothing has changed.
    2. `at` returns a table at another snapshot, with that snapshot's columns.
    3. `reach` belongs to the session that asks. A loaded table keeps the reach that it was loaded with.
    """

    def load(self, entry: Table, reach: LakeReach) -> LakeTable: ...

    def at(self, table: LakeTable, point: LakePoint) -> LakeTable: ...

    def named(self, place: str, reach: LakeReach) -> LakeTable: ...

    def facts(self, table: LakeTable, what: str) -> SystemTable: ...

    def create(self, entry: Table, fields: Sequence[PartitionField], reach: LakeReach) -> Table: ...

    def drop(self, entry: Table, reach: LakeReach) -> None: ...

    def alter(self, table: LakeTable, schema: Schema, renamed: tuple[str, str] | None) -> None: ...

    def partition_fields(self, table: LakeTable) -> tuple[PartitionField, ...]: ...

    def set_properties(self, table: LakeTable, given: Mapping[str, str], unset: Sequence[str]) -> None: ...

    def commit(self, table: LakeTable, files: Sequence[NewFile], *, replaced: Replaced, is_unchanged: bool) -> None: ...

    def access_id(self, table: LakeTable, place: str) -> str: ...

    def close(self) -> None: ...

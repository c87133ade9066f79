"""The seam behind which each lake format is: what `LakeTables` asks of it."""

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
    """Folders of the engine: of its state, and of its warehouse."""

    state_dir: str
    warehouse_dir: str
    is_read_only: bool


class LakeFormat(Protocol):
    """A lake format. Safe to use from several threads; see `sharkpy.catalog.lake_tables.LakeTables`.

    1. `load` gives a table as it is now, the same object while nothing has changed.
    2. `at` gives it at another snapshot, with the columns of then.
    3. `reach` is that of the session that asks. What a table was loaded with stays with it.
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

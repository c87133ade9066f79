"""Protocol of the lake formats: the operations that `LakeTables` needs, and the reach of the session that asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from sharkpy.base import uri
from sharkpy.base.records import dataclass
from sharkpy.base.settings import Conf
from sharkpy.catalog.lake_tables import NewFile, PartitionField, Replaced
from sharkpy.catalog.model import Table
from sharkpy.catalog.system_tables import SystemTable
from sharkpy.catalog.table_history import VersionPoint
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.sources.lake.lake_table import LakeTable


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

    def at(self, table: LakeTable, point: VersionPoint) -> LakeTable: ...

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


class FindAccess(Protocol):
    """Finds the id of the access to a remote location. NotAllowedError if the session has none.

    `is_named`: a statement names the location, and it does not belong to a table of the catalog.
    """

    def __call__(self, location: str, is_named: bool, /) -> str: ...


class LakeReach:
    """Reach of one session. It equals only itself, so that cached results are not shared between sessions.

    `conf` returns the settings for the catalogs.
    """

    def __init__(self, conf: Callable[[], Conf], find_access: FindAccess) -> None:
        self._conf = conf
        self._find_access = find_access

    @property
    def conf(self) -> Conf:
        return self._conf()

    def access_id(self, location: str, home: str | None) -> str:
        """Id of the access to a remote file.

        A file below its table's folder `home` is accessed as part of a table of the catalog. A file that metadata name
        elsewhere, or any file if `home` is None, is accessed as if a statement had named it.
        """
        is_named = home is None or uri.below(location, home) is None
        return self._find_access(location, is_named)

"""Check that nobody has written a table since a statement read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.base.errors import TableChangedError
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table
from sharkpy.execution.commands.writes.publish import QuietWrite
from sharkpy.execution.commands.writes.staging import folder_at
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.data_files import table_files

if TYPE_CHECKING:
    from sharkpy.execution.tables.snapshot import QuerySnapshot

_ATTEMPTS = 5


@dataclass(slots=True)
class Unchanged(QuietWrite):
    """First of a statement's writes: raises TableChangedError, before any other does, if the rows it read are old."""

    table: Table
    session: EngineSession
    state: object

    @classmethod
    def now(cls, table: Table, session: EngineSession) -> Unchanged:
        """Note the table's state, before the table is read."""
        return cls(table, session, _state(table, session))

    def place(self) -> None:
        if _state(self.table, self.session) != self.state:
            raise TableChangedError(f"{self.table.qualified_name} was changed while the statement ran")


def retried(work: Callable[[], None], snapshot: QuerySnapshot) -> None:
    """Do some work with the rows of a snapshot, again with those of then where others have written meanwhile.

    TableChangedError where that goes on.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            work()
        except TableChangedError:
            if attempt == _ATTEMPTS:
                raise
            snapshot.renew()
        else:
            return


def _newest(one: HivePartition, table: Table, session: EngineSession) -> int:
    if one.newest is not None:
        return one.newest
    return folder_at(one.folder(table), session).newest()


def _state(table: Table, session: EngineSession) -> object:
    """State of a table, which every write of it changes."""
    if table.is_partitioned:
        known = session.catalog.partitions(table)
        newest = [_newest(one, table, session) for one in known]
        return [(one.partition_id, one.name, one.location) for one in known], newest
    if table.location is None:
        version = session.table_cache.known_version(table)
        return None if version is None else [block.block_id for block in version.blocks]
    return session.table_cache.versions.contents.of(table_files(table, session.catalog))

"""Check that a table was not written since a statement read it."""

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
    """First of a statement's writes: it raises TableChangedError if the table has changed.

    It does so before the other writes are placed.
    """

    table: Table
    session: EngineSession
    state: object

    @classmethod
    def now(cls, table: Table, session: EngineSession) -> Unchanged:
        """Note the table's state before it is read."""
        return cls(table, session, _state(table, session))

    def place(self) -> None:
        if _state(self.table, self.session) != self.state:
            raise TableChangedError(f"{self.table.qualified_name} was changed while the statement ran")


def retried(work: Callable[[], None], snapshot: QuerySnapshot) -> None:
    """Run `work`, again over a renewed snapshot if another write has changed the table meanwhile.

    Raise TableChangedError after 5 attempts.
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
    """Return a table's state, which changes with every write."""
    if table.is_partitioned:
        known = session.catalog.partitions(table)
        newest = [_newest(one, table, session) for one in known]
        return [(one.partition_id, one.name, one.location) for one in known], newest
    if table.location is None:
        version = session.table_cache.known_version(table)
        return None if version is None else [block.block_id for block in version.blocks]
    return session.table_cache.versions.contents.of(table_files(table, session.catalog))

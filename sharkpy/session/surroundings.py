"""Answers of sessions to their catalogs: storage, lake tables, files that queries name, and settings."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from sharkpy.catalog.surroundings import Surroundings
from sharkpy.session.remote_storage import SessionAccesses
from sharkpy.sources.lake.lake_format import LakeReach
from sharkpy.sources.lake.session_lakes import SessionLakes

if TYPE_CHECKING:
    from sharkpy.base.settings import Conf
    from sharkpy.catalog.file_options import FileOptions
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.path_gate import PathGate
    from sharkpy.catalog.system_tables import SystemTable
    from sharkpy.catalog.trash import Leavings
    from sharkpy.execution.restrictions import Restrictions
    from sharkpy.session.shared_state import SharedState
    from sharkpy.session.shark_context import SharkContext


class ReachedStorage(Surroundings):
    """Surroundings with storage, as settings and restrictions reach it."""

    def __init__(self, conf: Conf, owner: Conf, restrictions: Callable[[], Restrictions]) -> None:
        """`conf`: the session's settings; `owner`: the settings of the engine's owner."""
        super().__init__(owner)
        self.accesses = SessionAccesses(conf, owner, restrictions)

    def access_id(self, location: str, *, is_named: bool) -> str:
        return self.accesses.find(location, is_named)

    def text(self, location: str, access_id: str) -> str:
        from sharkpy.sources.open_files import cached_text

        return cached_text(location, access_id)

    def remove_folder(self, location: str, leavings: Leavings) -> None:
        from sharkpy.sources.folders.table_folder import remove_dropped

        remove_dropped(location, self.access_id(location, is_named=False), leavings)

    def removal_of_data(self, location: str, kept: Collection[str]) -> Callable[[], Collection[str]]:
        from sharkpy.sources.folders.table_folder import removal_of_data

        return removal_of_data(location, self.access_id(location, is_named=False), kept)


class SessionSurroundings(ReachedStorage):
    """Surroundings of a session. They do not keep it alive."""

    def __init__(self, session: SharkContext, shared: SharedState, restrictions: Callable[[], Restrictions]) -> None:
        super().__init__(session.conf, shared.conf, restrictions)
        self._session = weakref.ref(session)
        self._shared = shared
        reach = LakeReach(partial(_lake_conf, self._session, shared.conf), self.accesses.find)
        self._lakes = SessionLakes(lambda: shared.lakes, reach)

    def file_table(
        self, word: str, place: str, given: FileOptions, gate: PathGate, access: Callable[[str], str]
    ) -> Table | None:
        return self._shared.file_tables.find(word, place, given, gate, access)

    def system_tables(self) -> Mapping[str, SystemTable]:
        from sharkpy.execution.commands.information_schema import information_tables
        from sharkpy.session.statement_tables import statement_tables
        from sharkpy.streaming.status import system_tables

        if (known := self._session()) is None:
            return {}
        return {**system_tables(known), **statement_tables(known), **information_tables(known.catalog)}

    @property
    def lakes(self) -> SessionLakes:
        return self._lakes


def _lake_conf(session: weakref.ref[SharkContext], owner: Conf) -> Conf:
    """Return the settings that locate catalogs of lake tables.

    A restricted session gets the settings of the engine's owner: a catalog is an address or a file, which such a
    session may not choose, and the catalog itself says where its tables are.
    """
    known = session()
    if known is None or known.restrictions.refuses_connections or known.restrictions.folders is not None:
        return owner
    return known.conf

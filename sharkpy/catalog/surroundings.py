"""Interface by which a catalog asks its session for storage, lake tables, files that queries name, and settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import InternalError
from sharkpy.base.settings import Conf
from sharkpy.catalog.path_gate import check_local
from sharkpy.catalog.table_history import Retention

if TYPE_CHECKING:
    from sharkpy.catalog.file_options import FileOptions
    from sharkpy.catalog.lake_tables import LakeTables
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.path_gate import PathGate
    from sharkpy.catalog.system_tables import SystemTable
    from sharkpy.catalog.trash import Leavings


class Surroundings:
    """Surroundings of a catalog without a session: it reaches local files only."""

    def __init__(self, conf: Conf) -> None:
        """`conf`: the settings of the engine's owner."""
        self._owner = conf

    def retention(self, table: Table) -> Retention:
        """Return which earlier versions of a table the engine retains."""
        return Retention.of(table, self._owner)

    def access_id(self, location: str, *, is_named: bool) -> str:
        """Return the id of the access to the location of a table in the catalog, or of one that a statement names.

        Raise NotAllowedError if there is none.
        """
        del is_named
        check_local(location)
        return ""

    def text(self, location: str, access_id: str) -> str:
        """Return the text of a small remote file."""
        del access_id
        raise InternalError(f'the text at "{uri.redacted(location)}" was asked for without a session')

    def remove_folder(self, location: str, leavings: Leavings) -> None:
        """Remove all files in a remote folder, or committed there. Raise an error if any is left."""
        del leavings
        check_local(location)

    def removal_of_data(self, location: str, kept: Collection[str]) -> Callable[[], Collection[str]]:
        """Return a function that removes the files that writes have put into a remote folder so far, or committed
        there, except `kept`. The function returns the files that it removed from other folders.
        """
        del location, kept
        return tuple

    def file_table(
        self, word: str, place: str, given: FileOptions, gate: PathGate, access: Callable[[str], str]
    ) -> Table | None:
        """Find the table of the files that a query names: see `ReadableCatalog.file_table`."""
        del word, place, given, gate, access
        return None

    def system_tables(self) -> Mapping[str, SystemTable]:
        """Return the tables of `sys` and `information_schema`, by qualified name."""
        return {}

    @property
    def lakes(self) -> LakeTables:
        """Lake tables, as the session reaches them."""
        raise InternalError("no session has said how lake tables are reached")

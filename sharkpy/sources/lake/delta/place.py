"""Where a table of Delta lies, and how deltalake gets there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from deltalake import DeltaTable

from sharkpy.base import uri
from sharkpy.base.errors import UnsupportedError
from sharkpy.sources.lake.lake_reach import LakeReach
from sharkpy.sources.remote_files import has_files
from sharkpy.sources.storage.access import ACCESSES
from sharkpy.sources.storage.requests import answer
from sharkpy.sources.storage.threads import CallThreads

T = TypeVar("T")
_CALLS = CallThreads(32)


@dataclass(frozen=True, slots=True)
class DeltaPlace:
    """Folder of a table, as a session reaches it. `is_named`: a statement names it; it is no table of the catalog."""

    location: str
    reach: LakeReach
    is_named: bool = False

    @property
    def is_remote(self) -> bool:
        return uri.is_remote(self.location)

    @property
    def home(self) -> str | None:
        return None if self.is_named else self.location

    @property
    def access_id(self) -> str:
        """Id of the access to the folder; empty for a local one."""
        return self.reach.access_id(self.location, self.home) if self.is_remote else ""

    @property
    def options(self) -> dict[str, str] | None:
        """What deltalake is told of storage. UnsupportedError for storage that it does not reach."""
        if not self.is_remote:
            return None
        from sharkpy.sources.storage.library_options import library_options

        return library_options(self.location, ACCESSES.find(self.access_id))

    @property
    def has_table(self) -> bool:
        """True if there is a log. deltalake itself would let no other thread run while it asks a store."""
        if not self.is_remote:
            return bool(DeltaTable.is_deltatable(self.location))
        return has_files(uri.join(self.location, "_delta_log"), self.access_id)

    def open(self) -> DeltaTable:
        options = self.options
        return self.asked(lambda: DeltaTable(self.location, storage_options=options))

    def asked(self, call: Callable[[], T]) -> T:
        """Result of a call of deltalake, which may take long for a remote table: the statement can be ended."""
        return answer(lambda: _CALLS.run(call)) if self.is_remote else call()

    def file_access(self, path: str) -> str:
        """Id of the access to a data file. UnsupportedError for a remote file of a local table, and for a local one of
        a remote table.
        """
        if uri.is_remote(path) != self.is_remote:
            where = "local" if self.is_remote else "remote"
            raise UnsupportedError(f'the {where} file "{uri.shown(path)}" of a table in "{uri.shown(self.location)}"')
        return self.reach.access_id(path, self.home) if self.is_remote else ""

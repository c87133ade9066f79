"""Location of a Delta table, and calls of deltalake for it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from deltalake import DeltaTable

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import ExecutionError, UnsupportedError
from sharkpy.sources.lake.lake_reach import LakeReach
from sharkpy.sources.remote_files import has_files
from sharkpy.sources.storage.access import ACCESSES
from sharkpy.sources.storage.object_reader import place_of
from sharkpy.sources.storage.requests import answer
from sharkpy.sources.storage.threads import CallThreads

T = TypeVar("T")
_CALLS = CallThreads(32)
_HDFS = frozenset({"hdfs", "viewfs"})
_MOST_SECONDS = 600.0
"""Time limit of a deltalake call for a remote table: its HDFS library waits for a name node without end."""
_IN_HDFS = re.compile(r"[A-Za-z0-9_./=+,@~-]*")
"""Paths that deltalake writes to HDFS unchanged. It encodes other characters as in a URL, and HDFS does not decode
them.
"""


@dataclass(frozen=True, slots=True)
class DeltaPlace:
    """Folder of a table, for one session. `is_named`: a statement names it, so it is not a table of the catalog."""

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
        """deltalake's options for storage. UnsupportedError for storage and folders that it cannot access."""
        if not self.is_remote:
            return None
        if uri.scheme_of(self.location) in _HDFS and not _IN_HDFS.fullmatch(place_of(self.location)[1]):
            message = (
                f'a table of Delta in "{uri.redacted(self.location)}", a path of HDFS with characters of URLs\' escapes'
            )
            raise UnsupportedError(message, hint="take letters from a to z, digits and _ . - = + , @ ~")
        from sharkpy.sources.storage.library_options import library_options

        return library_options(self.location, ACCESSES.find(self.access_id))

    @property
    def has_table(self) -> bool:
        """True if there is a log. deltalake's own check would block all other threads during the request."""
        if not self.is_remote:
            return bool(DeltaTable.is_deltatable(self.location))
        return has_files(uri.join(self.location, "_delta_log"), self.access_id)

    def open(self) -> DeltaTable:
        options = self.options
        return self.asked(lambda: DeltaTable(self.location, storage_options=options))

    def asked(self, call: Callable[[], T]) -> T:
        """Result of a deltalake call. For a remote table it may take long; the statement can be cancelled meanwhile.

        ExecutionError 08006 if it takes too long.
        """
        return answer(partial(self._bounded, call)) if self.is_remote else call()

    def changed(self, call: Callable[[], T]) -> T:
        """Result of a deltalake call that changes the log. Cancellation of the statement is ignored.

        ExecutionError 08006 if it takes too long: it may still change the log later.
        """
        with Cancellation().active():
            return self.asked(call)

    async def _bounded(self, call: Callable[[], T]) -> T:
        try:
            async with asyncio.timeout(_MOST_SECONDS):
                return await _CALLS.run(call)
        except TimeoutError:
            message = f'"{uri.redacted(self.location)}" has not answered within {_MOST_SECONDS:.0f} seconds'
            raise ExecutionError(message, sqlstate="08006") from None

    def file_access(self, path: str) -> str:
        """Id of the access to a data file. UnsupportedError for a remote file of a local table, and the other way
        round.
        """
        if uri.is_remote(path) != self.is_remote:
            where = "local" if self.is_remote else "remote"
            raise UnsupportedError(
                f'the {where} file "{uri.redacted(path)}" of a table in "{uri.redacted(self.location)}"'
            )
        return self.reach.access_id(path, self.home) if self.is_remote else ""

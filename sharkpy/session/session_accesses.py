"""Accesses of a session to remote storage, by the locations that its statements and tables name."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.settings import TEMP_DIR, Conf
from sharkpy.catalog.path_gate import check_not_engines
from sharkpy.execution.restrictions import Restrictions

if TYPE_CHECKING:
    from sharkpy.sources.storage.access import StorageAccess

_MOST = 256


class SessionAccesses:
    """Latest accesses of a session to storage. They are kept because statements and tasks find them by their ids.

    Safe to use from several threads.
    """

    def __init__(self, conf: Conf, owner: Conf, restrictions: Callable[[], Restrictions]) -> None:
        """`conf`: the session's settings; `owner`: the settings of the engine's owner."""
        self._conf = conf
        self._owner = owner
        self._restrictions = restrictions
        self._lock = threading.Lock()
        self._given: OrderedDict[str, StorageAccess] = OrderedDict()

    def find(self, location: str, is_named: bool) -> str:
        """Return the id of the access to a location of a table in the catalog, or of one that a statement names.

        A restricted session may name a location only within its bounds or with its own keys. Errors are raised as by
        `access_to`.
        """
        from sharkpy.sources.storage.access import ACCESSES, access_to
        from sharkpy.sources.storage.fetched_files import FETCHED

        uri.check_no_secrets(location)
        if is_named:
            check_not_engines(location)
        restrictions = self._restrictions()
        is_restricted = restrictions.folders is not None or restrictions.guards_settings
        is_open = not is_named or not is_restricted or restrictions.opens(location)
        found = access_to(location, self._conf, self._owner, is_restricted=is_restricted, is_open=is_open)
        with self._lock:
            kept = self._given.pop(found.id, found)
            self._given[kept.id] = kept
            while len(self._given) > _MOST:
                self._given.popitem(last=False)
        ACCESSES.note((kept,))
        if folder := self._owner.value(TEMP_DIR):
            FETCHED.use_folder(folder)
        return kept.id

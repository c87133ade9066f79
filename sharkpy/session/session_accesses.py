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
    """Accesses that a session was given, the last ones. They are kept, for statements and tasks find them by their ids.

    Safe to use from several threads.
    """

    def __init__(self, conf: Conf, owner: Conf, restrictions: Callable[[], Restrictions]) -> None:
        """`conf`: the session's settings; `owner`: those of the engine's owner."""
        self._conf = conf
        self._owner = owner
        self._restrictions = restrictions
        self._lock = threading.Lock()
        self._given: OrderedDict[str, StorageAccess] = OrderedDict()

    def find(self, location: str, is_named: bool) -> str:
        """Id of the access to a location: of a table of the catalog, or one that a statement names, which is open to
        sessions without restrictions, and to others within their bounds, or with keys of their own. Errors are those of
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
            FETCHED.lie_in(folder)
        return kept.id

"""How a session reaches lake tables: settings for their catalogs, and accesses to storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sharkpy.base import uri
from sharkpy.base.settings import Conf


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

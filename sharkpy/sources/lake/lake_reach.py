"""How a session reaches lake tables: settings that say where catalogs are, and accesses to storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sharkpy.base import uri
from sharkpy.base.settings import Conf


class FindAccess(Protocol):
    """Finds the id of the access to a remote location; `is_named`: it is no table's of the catalog, but one that a
    statement names. NotAllowedError where a session has none to that.
    """

    def __call__(self, location: str, is_named: bool, /) -> str: ...


class LakeReach:
    """Reach of one session. Equal to itself alone: what was found by one is not given to another.

    `conf` gives the settings that say where catalogs are.
    """

    def __init__(self, conf: Callable[[], Conf], find_access: FindAccess) -> None:
        self._conf = conf
        self._find_access = find_access

    @property
    def conf(self) -> Conf:
        return self._conf()

    def access_id(self, location: str, home: str | None) -> str:
        """Id of the access to a remote file. Below its table's folder `home` it is that to a table of the catalog. What
        metadata name elsewhere, and all that is there where `home` is None, is as if a statement had named it.
        """
        is_named = home is None or uri.below(location, home) is None
        return self._find_access(location, is_named)

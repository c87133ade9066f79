"""Names on a server for completion, which are asked for again after some seconds."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Hashable, Iterable

from sharkpy.base.errors import SharkError

_CACHE_SECONDS = 10.0


class CachedNames:
    """Lists of names by key. If the server refuses to list names, the last list is used; no error is raised."""

    def __init__(self) -> None:
        self._lists: dict[Hashable, tuple[float, list[str]]] = {}

    def names(self, key: Hashable, fetch: Callable[[], Iterable[str | None]]) -> list[str]:
        """Return the names of `key`, each once, from the cache or from `fetch`."""
        asked, names = self._lists.get(key, (None, []))
        if asked is not None and time.monotonic() - asked < _CACHE_SECONDS:
            return names
        with contextlib.suppress(SharkError, ValueError):
            names = list(dict.fromkeys(name for name in fetch() if name is not None))
        self._lists[key] = (time.monotonic(), names)
        return names

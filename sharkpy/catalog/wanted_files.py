"""Files in remote folders that streams of tables' rows have not read yet: they stay when their tables no longer need
them.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from typing import Protocol

from sharkpy.base import uri


class Wants(Protocol):
    """A source of the names, as `wanted_name` builds them, of files that streams want."""

    def wanted_names(self) -> list[str]: ...


class WantedFiles:
    """Files that streams in the catalogs of this process want. Threads may share it.

    If one process has several catalogs, a file stays while any of them has a stream that wants it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = weakref.WeakSet[Wants]()

    def add(self, wants: Wants) -> None:
        with self._lock:
            self._known.add(wants)

    def forget(self, wants: Wants) -> None:
        with self._lock:
            self._known.discard(wants)

    def among(self, paths: Iterable[str]) -> set[str]:
        """Return the files in `paths` that are wanted, under any name of their places."""
        asked = set(paths)
        if not asked:
            return set()
        with self._lock:
            known = list(self._known)
        wanted = {uri.place(path) for one in known for name in one.wanted_names() if (path := wanted_file(name)[1])}
        return {path for path in asked if uri.place(path) in wanted} if wanted else set()


WANTED = WantedFiles()


def wanted_name(path: str, partition: str) -> str:
    """Return the name of a remote file among a stream's files. `partition` is the name of its Hive partition."""
    return f"{partition}/{path}" if partition else path


def wanted_file(name: str) -> tuple[str, str]:
    """Split a name that `wanted_name` has built into Hive partition and path. The path is empty for a local file.

    Names of Hive partitions have no colons, so the first colon belongs to the scheme.
    """
    start = name.rfind("/", 0, name.find(":") + 1) + 1
    path = name[start:]
    return (name[: max(start - 1, 0)], path) if uri.is_remote(path) else ("", "")

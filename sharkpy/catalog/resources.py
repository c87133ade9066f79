"""Files of a session, added by ADD JAR, ADD FILE and ADD ARCHIVE."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass

KINDS = ("JAR", "FILE", "ARCHIVE")


@dataclass(frozen=True, slots=True)
class Fetched:
    """Copy of a remote file at `path`. `version` distinguishes the contents of one location."""

    path: str
    version: Hashable
    size_bytes: int


class Resources:
    """Absolute local paths by kind, in order of addition, and copies of remote files, which last as long as the
    session. Threads may share it.
    """

    def __init__(self) -> None:
        self.fetching = threading.Lock()
        """Held while a remote file is fetched, so that each file is fetched once."""
        self._lock = threading.Lock()
        self._paths: dict[str, tuple[str, ...]] = dict.fromkeys(KINDS, ())
        self._fetched: dict[str, Fetched] = {}
        self._fetched_bytes = 0

    @property
    def fetched_bytes(self) -> int:
        """Bytes of all copies of remote files."""
        return self._fetched_bytes

    def fetched(self, location: str) -> Fetched | None:
        """Return the last copy of a remote file."""
        return self._fetched.get(location)

    def note_fetched(self, location: str, copy: Fetched) -> None:
        with self._lock:
            self._fetched[location] = copy
            self._fetched_bytes += copy.size_bytes

    def paths(self, kind: str) -> tuple[str, ...]:
        return self._paths[kind]

    def add(self, kind: str, path: str) -> None:
        with self._lock:
            if path not in self._paths[kind]:
                self._paths[kind] = (*self._paths[kind], path)

    def remove(self, kind: str, path: str | None = None) -> None:
        """Remove one path, or all of the kind."""
        with self._lock:
            self._paths[kind] = tuple(one for one in self._paths[kind] if path is not None and one != path)

"""Files of a session, added by ADD JAR, ADD FILE and ADD ARCHIVE."""

from __future__ import annotations

import threading

KINDS = ("JAR", "FILE", "ARCHIVE")


class Resources:
    """Absolute local paths by kind, in the order of their addition. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._paths: dict[str, tuple[str, ...]] = dict.fromkeys(KINDS, ())

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

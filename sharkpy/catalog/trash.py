"""Deletion of folders so that they vanish at once: moved aside by one rename, then removed."""

from __future__ import annotations

import os
import shutil
import threading
import time
import uuid

from sharkpy.base import uri
from sharkpy.catalog.shared_folders import is_shared_folder, resolved


class Trash:
    """Folder of what is being removed. A kill half-way leaves pieces only there, and they go with the next ones."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._removing: threading.Thread | None = None

    def discard(self, path: str) -> bool:
        """Remove `path`; False if it is still there, for now."""
        is_gone = self.take(path)
        self.empty()
        return is_gone

    def take(self, path: str) -> bool:
        """Move `path` here, to be removed by `empty`; False if it is still where it was.

        A folder that holds this one, and so the warehouse, stays, as does one that is not for one table.
        """
        if not os.path.lexists(path):
            return True
        if is_shared_folder(path) or uri.below(str(resolved(self._folder)), os.path.realpath(path)) is not None:
            return True
        aside = f"{self._folder}/{uuid.uuid4().hex}"
        try:
            os.makedirs(self._folder, exist_ok=True)  # noqa: PTH103  thousands of folders may be taken
            os.rename(path, aside)  # noqa: PTH104
        except OSError:
            # Another file system: no rename across; remove in place.
            shutil.rmtree(path, ignore_errors=True)
            return not os.path.lexists(path)
        return True

    def empty(self, seconds: float = 0.1) -> None:
        """Remove what is here. What takes longer than that is removed while the process goes on."""
        end = time.monotonic() + seconds
        for path in _content(self._folder):
            for piece in (*_content(path), path):
                if time.monotonic() > end:
                    self._go_on()
                    return
                _remove(piece)

    def close(self) -> None:
        """Wait until what was taken is removed."""
        with self._lock:
            removing = self._removing
        if removing is not None:
            removing.join()

    def _go_on(self) -> None:
        with self._lock:
            if self._removing is None or not self._removing.is_alive():
                self._removing = threading.Thread(target=self._remove_all, name="sharkpy-trash")
                self._removing.start()

    def _remove_all(self) -> None:
        tried: set[str] = set()
        while left := [path for path in _content(self._folder) if path not in tried]:
            for path in left:
                _remove(path)
            tried.update(left)


def _content(folder: str) -> list[str]:
    """Paths of what is in a folder; none for a link, which alone is removed, or what is gone by now."""
    if os.path.islink(folder):  # noqa: PTH114
        return []
    try:
        return [f"{folder}/{name}" for name in os.listdir(folder)]  # noqa: PTH208
    except OSError:
        return []


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
        shutil.rmtree(path, ignore_errors=True)
        return
    try:
        os.unlink(path)  # noqa: PTH108
    except OSError:
        return

"""Deletion of folders in two steps: one rename makes them vanish at once, then their files are removed.

Folders that belong to no table are never deleted or replaced as a table's data.
"""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.errors import BindError
from sharkpy.base.records import dataclass


@dataclass(frozen=True, slots=True)
class Leavings:
    """Exceptions in the removal of a folder: the files in it that are `kept`, its files `elsewhere`, and the files
    elsewhere that are `removed` already.
    """

    removed: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()


class Trash:
    """Folder of files that are being removed. A kill leaves files only there, and the next removal deletes them."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._removing: threading.Thread | None = None

    def discard(self, path: str) -> bool:
        """Remove `path`. Return False if it is still there, for now."""
        is_gone = self.take(path)
        self.empty()
        return is_gone

    def take(self, path: str) -> bool:
        """Move `path` to the trash, to be removed by `empty`. Return False if it is still at its place.

        A folder that contains the trash, and so the warehouse, stays, as does a folder that is shared (see
        `is_shared_folder`).
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
            # Another file system does not allow the rename: remove the folder in place.
            shutil.rmtree(path, ignore_errors=True)
            return not os.path.lexists(path)
        return True

    def take_except(self, path: str, kept: Collection[str]) -> bool:
        """Remove the files below `path` in place, except some, and the folders that are empty then."""
        for folder, _, names in os.walk(path, topdown=False):
            for name in names:
                if f"{folder}/{name}" not in kept:
                    _remove(f"{folder}/{name}")
            with suppress(OSError):
                os.rmdir(folder)  # noqa: PTH106
        return True

    def empty(self, seconds: float = 0.1) -> None:
        """Remove the contents of the trash. If that takes longer than `seconds`, a thread continues."""
        end = time.monotonic() + seconds
        for path in _content(self._folder):
            for piece in (*_content(path), path):
                if time.monotonic() > end:
                    self._go_on()
                    return
                _remove(piece)

    def close(self) -> None:
        """Wait until the contents are removed."""
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
    """Return the paths in a folder; none for a link, which is removed itself, and none for a folder that no longer
    exists.
    """
    if os.path.islink(folder):  # noqa: PTH114
        return []
    try:
        return [f"{folder}/{name}" for name in os.listdir(folder)]  # noqa: PTH208
    except OSError:
        return []


def remove_file(path: str) -> None:
    """Remove a file of a write, and its folders that are empty then."""
    _remove(path)
    folder = os.path.dirname(path)  # noqa: PTH120
    with suppress(OSError):
        while "/_files" in folder:
            os.rmdir(folder)  # noqa: PTH106
            folder = os.path.dirname(folder)  # noqa: PTH120


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
        shutil.rmtree(path, ignore_errors=True)
        return
    try:
        os.unlink(path)  # noqa: PTH108
    except OSError:
        return


@functools.lru_cache(maxsize=16)
def resolved(path: str) -> Path:
    """Return the path without symbolic links of a folder that does not move while the process runs."""
    return Path(path).resolve()


def is_shared_folder(path: str) -> bool:
    """Return True if `path` is the root, a folder directly in it, the user's home, the temporary folder, or a parent of
    these. A remote location is shared if it is the root.
    """
    if uri.is_remote(path):
        return not uri.name_of(path)
    folder = os.path.realpath(path)
    others = (resolved(tempfile.gettempdir()), resolved(os.path.expanduser("~")))  # noqa: PTH111
    return folder.count("/") <= 1 or any(uri.below(str(other), folder) is not None for other in others)


def require_own_folder(path: str, what: str) -> None:
    """Raise BindError if `what` would delete the contents of a shared folder."""
    if is_shared_folder(path):
        message = f'{what} would delete the content of "{path}", which is not the folder of one table'
        raise BindError(message, hint="name a folder below it", sqlstate="42000")

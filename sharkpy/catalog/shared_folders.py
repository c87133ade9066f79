"""Folders that belong to no table: their contents are never deleted or replaced as a table's data."""

from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.errors import BindError


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

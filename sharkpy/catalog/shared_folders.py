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
    """Place of a folder that stays where it is as long as the process runs, without symbolic links."""
    return Path(path).resolve()


def is_shared_folder(path: str) -> bool:
    """True if `path` is the root or a folder right below it, the user's home, the folder for temporary files, or holds
    one of these; of a remote location, if it is the root.
    """
    if uri.is_remote(path):
        return not uri.name_of(path)
    folder = os.path.realpath(path)
    others = (resolved(tempfile.gettempdir()), resolved(os.path.expanduser("~")))  # noqa: PTH111
    return folder.count("/") <= 1 or any(uri.below(str(other), folder) is not None for other in others)


def require_own_folder(path: str, what: str) -> None:
    """BindError if `what` would delete the contents of a shared folder."""
    if is_shared_folder(path):
        message = f'{what} would delete what is in "{path}", which is not a folder for one table'
        raise BindError(message, hint="name a folder below it", sqlstate="42000")

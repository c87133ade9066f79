"""Paths of the local file system, as statements write them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sharkpy.base.errors import BindError, UnsupportedError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?=/)")


def local_path(location: str) -> str:
    """Absolute path of a `file:` URI or plain path; UnsupportedError for other file systems.

    `~` alone is the home of who runs the engine: `~name` would tell which users the machine has.
    """
    match = _SCHEME.match(location)
    if match is None:
        return _checked(str((Path(location).expanduser() if _is_home(location) else Path(location)).absolute()))
    if match.group(1).lower() != "file":
        raise UnsupportedError(f'file system "{match.group(1)}" of "{location}": only local files are supported')
    return _checked(str(Path("/", location[match.end() :].lstrip("/"))))


def _is_home(location: str) -> bool:
    return location == "~" or location.startswith("~/")


def _checked(path: str) -> str:
    try:
        named = os.fsencode(path)
    except UnicodeEncodeError:
        named = b"\0"
    if b"\0" in named:
        raise BindError(f"{path!r} cannot be a path: it has characters that no file's name has", sqlstate="42602")
    return path

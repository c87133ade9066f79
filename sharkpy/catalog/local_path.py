"""Paths of the local file system, as statements write them."""

from __future__ import annotations

import os
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.errors import BindError, UnsupportedError


def local_path(location: str) -> str:
    """Return the absolute path of a `file:` URI or plain path. Raise UnsupportedError for a remote location.

    Only `~` is expanded, to the home of the engine's user: `~name` would reveal the users of the machine.
    """
    scheme = uri.scheme_of(location)
    if not scheme:
        return _checked(str((Path(location).expanduser() if _is_home(location) else Path(location)).absolute()))
    check_local(location)
    return _checked(str(Path("/", location[len(scheme) + 1 :].lstrip("/"))))


def path_or_uri(location: str) -> str:
    """Return the absolute path of a local location, or a remote location without a slash at the end."""
    return location.rstrip("/") if uri.is_remote(location) else local_path(location)


def check_local(location: str) -> None:
    """Raise UnsupportedError, which names the file system, for a remote location."""
    if uri.is_remote(location):
        uri.check_no_secrets(location)
        scheme, place = uri.scheme_of(location), uri.shown(location)
        message = f'file system "{scheme}" of "{place}": only local files are supported'
        raise UnsupportedError(message, hint="name a path of this machine")


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

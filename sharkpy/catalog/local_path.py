"""Paths of the local file system, as statements write them."""

from __future__ import annotations

import os
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.errors import BindError, UnsupportedError


def local_path(location: str) -> str:
    """Absolute path of a `file:` URI or plain path; UnsupportedError for a remote location, as `check_local` says.

    `~` alone is the home of who runs the engine: `~name` would tell which users the machine has.
    """
    scheme = uri.scheme_of(location)
    if not scheme:
        return _checked(str((Path(location).expanduser() if _is_home(location) else Path(location)).absolute()))
    check_local(location)
    return _checked(str(Path("/", location[len(scheme) + 1 :].lstrip("/"))))


def path_or_uri(location: str) -> str:
    """Absolute path of a local location; a remote one as it is, without a slash at the end."""
    return location.rstrip("/") if uri.is_remote(location) else local_path(location)


def check_local(location: str) -> None:
    """UnsupportedError for a remote location where a local one is needed; it names the file system."""
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

"""Handles of sessions and operations: 16 bytes that name one, and 16 that prove who asks."""

from __future__ import annotations

import secrets
from typing import Any

from sharkpy.thrift.wire.bindings import ttypes


def new_identifier() -> Any:
    """New identifier of random letters and digits: clients' libraries may take the bytes for text."""
    # Of four letters each stands for three bytes of their own.
    letters = secrets.token_urlsafe(24).encode()
    return ttypes.THandleIdentifier(guid=letters[:16], secret=letters[16:])


def matches(known: Any, given: Any) -> bool:
    """True where a client's identifier is the one that it was given, compared in constant time."""
    return isinstance(given.secret, bytes) and secrets.compare_digest(known.secret, given.secret)


def key_of(handle_identifier: Any) -> bytes:
    """Key by which an identifier is looked up; b"" for what is none."""
    guid = getattr(handle_identifier, "guid", None)
    return guid if isinstance(guid, bytes) else b""

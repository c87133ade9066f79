"""Handles of sessions and operations: 16 bytes that name one, and 16 secret bytes that prove the right to use it."""

from __future__ import annotations

import secrets
from typing import Any

from sharkpy.thrift.wire.bindings import ttypes


def new_identifier() -> Any:
    """Return a new identifier of random ASCII characters: clients' libraries may take the bytes for text."""
    # Each four characters encode three random bytes, so the two halves are independent.
    letters = secrets.token_urlsafe(24).encode()
    return ttypes.THandleIdentifier(guid=letters[:16], secret=letters[16:])


def matches(known: Any, given: Any) -> bool:
    """Return whether a client's identifier has the right secret. The comparison takes constant time."""
    return isinstance(given.secret, bytes) and secrets.compare_digest(known.secret, given.secret)


def key_of(handle_identifier: Any) -> bytes:
    """Return the key by which an identifier is looked up, or b"" if this is not an identifier."""
    guid = getattr(handle_identifier, "guid", None)
    return guid if isinstance(guid, bytes) else b""

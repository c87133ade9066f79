"""Folder names of tables and databases. Long names are truncated, since file systems allow 255 bytes."""

from __future__ import annotations

import xxhash

_MOST_BYTES = 240
"""Some bytes are left for suffixes of related folders."""
_KEPT_BYTES = 200


def folder_name(name: str, suffix: str = "") -> str:
    """Return the default folder name of a table or database. A long name is truncated and gets a hash of the whole
    name.
    """
    stored = name.encode("utf-8", "surrogatepass")
    if len(stored) + len(suffix) <= _MOST_BYTES:
        return name + suffix
    start = stored[:_KEPT_BYTES].decode("utf-8", "ignore")
    return f"{start}-{xxhash.xxh3_64_hexdigest(stored)}{suffix}"

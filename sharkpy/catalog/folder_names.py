"""Names of the folders of tables and databases: those of long names are cut, since file systems take 255 bytes."""

from __future__ import annotations

import xxhash

_MOST_BYTES = 240
"""Room is left for what makes the name of another folder of it."""
_KEPT_BYTES = 200


def folder_name(name: str, suffix: str = "") -> str:
    """Name of the usual folder of a table or database; of a long name the beginning, and a number for all of it."""
    stored = name.encode("utf-8", "surrogatepass")
    if len(stored) + len(suffix) <= _MOST_BYTES:
        return name + suffix
    start = stored[:_KEPT_BYTES].decode("utf-8", "ignore")
    return f"{start}-{xxhash.xxh3_64_hexdigest(stored)}{suffix}"

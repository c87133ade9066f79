"""Owner of a warehouse at a URI: an id of the catalog, which the warehouse stores as well."""

from __future__ import annotations

import socket
import uuid
from dataclasses import dataclass
from pathlib import Path

from sharkpy.catalog.database_file import CatalogFile


@dataclass(frozen=True, slots=True)
class CatalogOwner:
    """Owner of a warehouse: its id, and the place of its catalog for people, as `host:path`.

    `is_known`: the catalog has placed its claim in the warehouse.
    """

    owner: str
    place: str
    is_known: bool


def owner_of(file: CatalogFile) -> CatalogOwner:
    """Return the owner that a catalog is. The first call creates it.

    A copy of the catalog is a different owner. Inode and place identify the original: the inode stays when the file is
    moved or its host is renamed, and the place stays when the file is restored there.
    """
    here = (str(Path(file.path).stat().st_ino), f"{socket.gethostname()}:{file.path}")
    with file.transaction():
        row = file.row("SELECT owner, inode, place, is_known FROM owner_")
        owner, inode, place, is_known = row or (uuid.uuid4().hex, *here, 0)
        if row is not None and (inode, place) == here:
            return CatalogOwner(owner, place, bool(is_known))
        if inode != here[0] and place != here[1]:
            owner, is_known = uuid.uuid4().hex, 0
        file.run("DELETE FROM owner_")
        file.run("INSERT INTO owner_ VALUES (?, ?, ?, ?)", owner, *here, is_known)
        return CatalogOwner(owner, here[1], bool(is_known))


def note_known(file: CatalogFile) -> None:
    """Record that the warehouse has the catalog's claim."""
    file.run("UPDATE owner_ SET is_known = 1")

"""Owner of a warehouse at a URI: an id of the catalog, by which the warehouse knows it."""

from __future__ import annotations

import socket
import uuid
from dataclasses import dataclass
from pathlib import Path

from sharkpy.catalog.database_file import CatalogFile


@dataclass(frozen=True, slots=True)
class CatalogOwner:
    """Owner: its id, and where its catalog is, for people, as `host:path`.

    `is_known`: the warehouse has had the catalog's claim, as far as the catalog knows.
    """

    owner: str
    place: str
    is_known: bool


def owner_of(file: CatalogFile) -> CatalogOwner:
    """Owner that a catalog is, made with its first call.

    A copy is another owner than its original. It is told by its inode, which stays when the file is moved or its host
    gets another name, and by its place, which stays when it is restored there.
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
    """Note that the warehouse has the catalog's claim."""
    file.run("UPDATE owner_ SET is_known = 1")

"""Locations as the catalog's file keeps them: those in the warehouse are relative to it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from sharkpy.base import uri

STATE_FOLDER = ".sharkpy"
"""Folder of what the engine keeps for itself, in a warehouse or beside its catalog. No table or database has its name.
"""


@dataclass(frozen=True, slots=True)
class Locations:
    """Conversion of locations to stored ones and back.

    1. A path in the folder `warehouse`, by whatever name of that folder, is stored relative to it. So the catalog of a
       copied or moved warehouse means the files beside it. The same holds for URIs in a warehouse at a URI.
    2. Other paths and URIs are stored as they are. With an empty `warehouse` all are.
    3. Names of a local folder are told by its `real` path, without links.
    """

    warehouse: str = ""
    real: str = ""

    @classmethod
    def below(cls, warehouse: str) -> Locations:
        return cls(warehouse, "" if uri.is_remote(warehouse) else os.path.realpath(warehouse))

    def stored(self, location: str) -> str:
        if not self.warehouse or bool(uri.scheme_of(location)) != uri.is_remote(self.warehouse):
            return location
        inside = uri.below(location, self.warehouse)
        if inside is None and self.real:
            inside = uri.below(os.path.realpath(location), self.real)
        if inside is None:
            return location
        # The name of a folder may look like a scheme, and an object's may begin with a slash.
        return f"./{inside}" if is_outside(inside) or inside.startswith("./") else inside

    def absolute(self, stored: str) -> str:
        if not self.warehouse or is_outside(stored):
            return stored
        return self.warehouse if stored == "." else f"{self.warehouse}/{stored.removeprefix('./')}"


def is_outside(stored: str) -> bool:
    """True for a stored location that is not relative to the warehouse."""
    return stored.startswith("/") or bool(uri.scheme_of(stored))

"""Locations as the catalog's file stores them: relative to the warehouse if they are in it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from sharkpy.base import uri

STATE_FOLDER = ".sharkpy"
"""Folder of the engine's own files, in a warehouse or next to its catalog. No table or database may have this name."""


@dataclass(frozen=True, slots=True)
class Locations:
    """Conversion of locations to stored ones and back.

    1. A path in the folder `warehouse`, under any name of that folder, is stored relative to it. So the catalog of a
       copied or moved warehouse refers to the copied files. The same holds for URIs in a warehouse at a URI.
    2. Other paths and URIs are stored unchanged. If `warehouse` is empty, all are.
    3. `real` is the path of a local warehouse without symbolic links. It identifies the folder under its other names.
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
        # The name of a folder may look like a scheme, and the name of an object may begin with a slash.
        return f"./{inside}" if is_outside(inside) or inside.startswith("./") else inside

    def absolute(self, stored: str) -> str:
        if not self.warehouse or is_outside(stored):
            return stored
        return self.warehouse if stored == "." else f"{self.warehouse}/{stored.removeprefix('./')}"


def is_outside(stored: str) -> bool:
    """Return True if a stored location is not relative to the warehouse."""
    return stored.startswith("/") or bool(uri.scheme_of(stored))

"""Locations as the catalog's file keeps them: those in the warehouse are relative to it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from sharkpy.base import uri


@dataclass(frozen=True, slots=True)
class Locations:
    """Conversion of locations to stored ones and back.

    1. A path in the folder `warehouse`, by whatever name of that folder, is stored relative to it. So the catalog of a
       copied or moved warehouse means the files beside it.
    2. Other paths, and URIs, are stored as they are. With an empty `warehouse` all are.
    3. Names of the folder are told by its `real` path, without links.
    """

    warehouse: str = ""
    real: str = ""

    @classmethod
    def below(cls, warehouse: str) -> Locations:
        return cls(warehouse, os.path.realpath(warehouse))

    def stored(self, location: str) -> str:
        if not self.warehouse or uri.scheme_of(location):
            return location
        inside = uri.below(location, self.warehouse)
        if inside is None:
            inside = uri.below(os.path.realpath(location), self.real)
        if inside is None:
            return location
        # The name of a folder may look like a scheme.
        return f"./{inside}" if uri.scheme_of(inside) else inside

    def absolute(self, stored: str) -> str:
        if not self.warehouse or is_outside(stored):
            return stored
        return self.warehouse if stored == "." else f"{self.warehouse}/{stored.removeprefix('./')}"


def is_outside(stored: str) -> bool:
    """True for a stored location that is not relative to the warehouse."""
    return stored.startswith("/") or bool(uri.scheme_of(stored))

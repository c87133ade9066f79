"""Locations as the catalog's file keeps them: those in the warehouse are relative to it."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Locations:
    """Conversion of paths to stored locations and back.

    1. A path in the folder `warehouse`, by whatever name of that folder, is stored relative to it. So the catalog of a
       copied or moved warehouse means the files beside it.
    2. Other paths are stored as they are. With an empty `warehouse` all are.
    3. Names of the folder are told by its `real` path, without links.
    """

    warehouse: str = ""
    real: str = ""

    @classmethod
    def below(cls, warehouse: str) -> Locations:
        return cls(warehouse, os.path.realpath(warehouse))

    def stored(self, path: str) -> str:
        if not self.warehouse:
            return path
        inside = path_below(path, self.warehouse)
        if inside is None:
            inside = path_below(os.path.realpath(path), self.real)
        return path if inside is None else inside

    def absolute(self, stored: str) -> str:
        if not self.warehouse or stored.startswith("/"):
            return stored
        return self.warehouse if stored == "." else f"{self.warehouse}/{stored}"


def path_below(path: str, folder: str) -> str | None:
    """Path relative to `folder`, by its text: "." for the folder itself, None for one that is not in it."""
    if path == folder:
        return "."
    inside = path.removeprefix(folder.rstrip("/") + "/")
    return None if inside == path or ".." in inside.split("/") else inside

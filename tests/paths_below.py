"""Paths below a folder in which an engine is at work."""

from __future__ import annotations

import os
from fnmatch import fnmatch
from pathlib import Path


def paths_below(folder: Path, pattern: str = "*") -> list[Path]:
    """Files and folders by their names, as `rglob` gives them; folders that vanish meanwhile are not an error."""
    found = list[Path]()
    for root, folders, files in os.walk(folder):
        found += [Path(root, name) for name in (*folders, *files) if fnmatch(name, pattern)]
    return found

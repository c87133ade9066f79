"""Deletion of folders so that they vanish at once: moved aside by one rename, then removed."""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path

from sharkpy.catalog.shared_folders import is_shared_folder, resolved


def discard(path: str, trash_dir: str) -> bool:
    """Remove `path`; False if it is still there. A kill half-way leaves pieces only in `trash_dir`.

    A folder that holds `trash_dir`, and so the warehouse, stays, as does one that is not for one table.
    """
    is_kept = is_shared_folder(path) or resolved(trash_dir).is_relative_to(Path(path).resolve())
    if is_kept or not os.path.lexists(path):
        return True
    Path(trash_dir).mkdir(parents=True, exist_ok=True)
    aside = Path(trash_dir, uuid.uuid4().hex)
    try:
        Path(path).rename(aside)
    except OSError:
        # Another file system: no rename across; remove in place.
        shutil.rmtree(path, ignore_errors=True)
        return not os.path.lexists(path)
    shutil.rmtree(aside, ignore_errors=True)
    return True

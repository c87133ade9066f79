"""Folders of the engine: a temporary one, removed after its process ends, and one for evicted blocks."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from sharkpy.base.settings import STORE_LOCAL_DIR, Conf

_PREFIX = "sharkpy-"


def make_scratch(parent: str | None = None) -> Path:
    """Make a folder for this process in `parent` (default: the system's), and remove dead processes' folders."""
    base = Path(parent or tempfile.gettempdir())
    sweep_scratch(base)
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=base))


def blocks_folder(conf: Conf, warehouse: Path) -> Path:
    """Return the folder of blocks that do not fit shared memory: the setting's, or `.blocks` in the warehouse."""
    return Path(conf.value(STORE_LOCAL_DIR) or warehouse / ".blocks")


def sweep_scratch(base: Path) -> list[Path]:
    """Remove the folders of dead processes, and return them."""
    removed = []
    for folder in base.glob(f"{_PREFIX}[0-9]*-*"):
        owner = folder.name.removeprefix(_PREFIX).split("-", 1)[0]
        if owner.isdigit() and not _is_alive(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder)
    return removed


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

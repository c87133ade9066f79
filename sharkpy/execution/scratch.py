"""Folder for temporary files: named after its process, swept when the process is gone."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "sharkpy-"


def make_scratch(parent: str | None = None) -> Path:
    """Make a folder of this process under `parent` (default: the system's), and remove orphans of others."""
    base = Path(parent or tempfile.gettempdir())
    sweep_scratch(base)
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=base))


def sweep_scratch(base: Path) -> list[Path]:
    """Remove the folders of processes that have ended; returns them."""
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

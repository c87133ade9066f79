"""Staged files of a folder in the local file system: how they become a table's data at once, and how they are deleted.

Generations are folders there (`sharkpy.sources.folders.generations`). Paths are absolute.
"""

from __future__ import annotations

import os
import shutil
import socket
import uuid
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from sharkpy.sources.file_errors import io_error
from sharkpy.sources.folders.generations import Generation, Placed
from sharkpy.sources.folders.manifests import STAGING_PREFIX
from sharkpy.sources.layout import (
    files_below,
    hidden_names,
    names_if_any,
    names_in,
    newest_generation,
    numbered_name,
)
from sharkpy.sources.storage.local_store import LOCAL, sync_path

_DISCARD_TRIES = 3
"""Most tries to delete a folder. A try fails if a task creates a file in it meanwhile."""


def make_staging(staging: str, *, in_new_folder: bool = True) -> str:
    """Make the folder of a path from `staging_path`. With `in_new_folder` its parent folder is made, too, if it is
    missing.
    """
    try:
        Path(staging).mkdir(parents=in_new_folder)
    except OSError as error:
        raise io_error(error, str(Path(staging).parent)) from None
    return staging


def staged_subfolder(staging_dir: str, name: str) -> str:
    """The folder `name`, a path below `staging_dir`. A staging folder that is gone is not made again."""
    folder = Path(staging_dir)
    try:
        for part in Path(name).parts:
            folder /= part
            folder.mkdir(exist_ok=True)
    except OSError as error:
        raise io_error(error, str(folder)) from None
    return str(folder)


def staging_path(folder: str) -> str:
    """Path of a new staging folder in `folder`: readers do not see it, and its name contains the process id."""
    return str(Path(folder, staging_name()))


def staging_name() -> str:
    """Name of a new staging folder, which contains the host and the process id."""
    return f"{STAGING_PREFIX}{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex}"


def place(staging_dir: str, path: str, overwrite: bool) -> str | None:
    """Make the staged files data of the table by one rename; return the new folder, or None if there is nothing to add.

    With `overwrite` they replace all existing data. Call `sync_staged` before it.
    """
    try:
        if not overwrite and not files_below(staging_dir):
            shutil.rmtree(staging_dir, ignore_errors=True)
            return None
        target = _rename_to_next(staging_dir, path, "base" if overwrite else "delta")
        _sync_rename(staging_dir, target)
    except OSError as error:
        raise io_error(error, path) from None
    return target


def link_files(paths: Sequence[str], staging_dir: str) -> None:
    """Link files into a staging folder, numbered in the order of their rows.

    The readers of their folder have to keep the files meanwhile.
    """
    links = [f"{staging_dir}/{numbered_name(number, path)}" for number, path in enumerate(paths)]
    try:
        for link, path in zip(links, paths, strict=True):
            Path(link).hardlink_to(path)
    except OSError as error:
        raise io_error(error, staging_dir) from None


def take_back(placed: Placed) -> None:
    """Remove the folder of a write's files, unless another folder has the name by now. Remote files stay staged."""
    with suppress(OSError):
        if placed.place and str(Path(placed.place).stat().st_ino) == placed.mark:
            discard_staging(placed.place)


def sync_staged(staging_dir: str) -> None:
    """Sync the staged files to disk, several at a time, before they are put in place."""
    LOCAL.sync(file.path for file in files_below(staging_dir))


def sync_folders(paths: Iterable[str]) -> None:
    """Sync folders to disk."""
    LOCAL.sync(paths)


def remove_empty(path: str) -> None:
    """Remove the empty folders at and below `path`."""
    for folder, _, _ in os.walk(path, topdown=False):
        remove_empty_one(folder)


def remove_empty_above(folder: str, top: str) -> None:
    """Remove a folder below the folder `top` if it is empty, then the folders above it that are empty then."""
    while Path(top) in Path(folder).parents and remove_empty_one(folder):
        folder = str(Path(folder).parent)


def remove_empty_one(folder: str) -> bool:
    """Remove a folder if it is empty; True if it was."""
    try:
        Path(folder).rmdir()
    except OSError:
        return False
    return True


def remove_beyond(path: str, newest: int) -> None:
    """Remove the generations after `newest`, which no reader sees."""
    for name in names_in(path):
        if Generation.of(name).last > newest:
            _remove(Path(path, name))


def discard_staging(staging_dir: str) -> None:
    """Remove the files that a failed write has left; do nothing if the folder is gone.

    The folder is renamed first: a task that outlives its statement cannot find it any more.
    """
    path = Path(staging_dir)
    aside = path.with_name(staging_name())
    try:
        path.rename(aside)
    except FileNotFoundError:
        return
    except OSError:
        aside = path
    for _ in range(_DISCARD_TRIES):
        shutil.rmtree(aside, ignore_errors=True)
        if not os.path.lexists(aside):
            break


def remove_abandoned(path: str) -> None:
    """Delete staging folders of dead processes of this machine."""
    for name in names_if_any(path):
        if name.startswith(STAGING_PREFIX) and is_abandoned(name):
            shutil.rmtree(Path(path, name), ignore_errors=True)


def remove_hidden(path: str, newest: int | None = None, among: Collection[str] | None = None) -> None:
    """Delete the data of `hidden_names`, all or only the names in `among`, and staging folders of dead processes of
    this machine.
    """
    remove_abandoned(path)
    hidden = hidden_names(path, newest)
    for name in sorted(hidden if among is None else hidden.intersection(among)):
        _remove(Path(path, name))


def _rename_to_next(staging_dir: str, path: str, kind: str) -> str:
    """Rename to the next generation. If another writer takes its number first, try the one after that."""
    while True:
        target = str(Path(path, f"{kind}_{newest_generation(path) + 1:07d}"))
        if os.path.lexists(target):
            continue
        try:
            Path(staging_dir).rename(target)
        except OSError:
            if os.path.lexists(target) and os.path.lexists(staging_dir):
                continue
            raise
        return target


def _sync_rename(staging_dir: str, target: str) -> None:
    """Sync the rename to disk, or undo it, so that a failed statement changes nothing."""
    try:
        sync_path(str(Path(target).parent))
    except OSError:
        with suppress(OSError):
            Path(target).rename(staging_dir)
        shutil.rmtree(target, ignore_errors=True)
        raise


def is_abandoned(name: str) -> bool:
    """True for the name of a staging folder whose process, of this machine, is dead."""
    host, _, rest = name.removeprefix(STAGING_PREFIX).rpartition("-")[0].rpartition("-")
    if host != socket.gethostname() or not rest.isdigit():
        return False
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _remove(path: Path) -> None:
    """Remove a file, or a folder in one step: readers never see a part of it."""
    if path.is_dir() and not path.is_symlink():
        discard_staging(str(path))
    else:
        path.unlink(missing_ok=True)

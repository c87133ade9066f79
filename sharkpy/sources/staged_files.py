"""Staged files of a folder in the local file system: how they become a table's data at once, and how they go.

Generations are folders there (`sharkpy.sources.folders.generations`). Paths are absolute.
"""

from __future__ import annotations

import os
import shutil
import socket
import uuid
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from sharkpy.sources.failures import io_error
from sharkpy.sources.folders.generations import Generation
from sharkpy.sources.layout import (
    DataFile,
    files_below,
    hidden_names,
    names_if_any,
    names_in,
    newest_generation,
    visible_generations,
)

_STAGING_PREFIX = ".staging-"
_SYNC_THREADS = 8
_DISCARD_TRIES = 3
"""A file that was about to be made as its folder moved away keeps the folder from going at once."""


def make_staging(staging: str, *, in_new_folder: bool = True) -> str:
    """Make the folder of a path from `staging_path`; with the one that it is in, unless that has to be there."""
    try:
        Path(staging).mkdir(parents=in_new_folder)
    except OSError as error:
        raise io_error(error, str(Path(staging).parent)) from None
    return staging


def staged_subfolder(staging_dir: str, name: str) -> str:
    """The folder `name`, a path below `staging_dir`, which itself is not made anew where it is gone."""
    folder = Path(staging_dir)
    try:
        for part in Path(name).parts:
            folder /= part
            folder.mkdir(exist_ok=True)
    except OSError as error:
        raise io_error(error, str(folder)) from None
    return str(folder)


def staging_path(folder: str) -> str:
    """Path of a new staging folder in `folder`: readers do not see it, and its name says whose process it is."""
    return str(Path(folder, staging_name()))


def staging_name() -> str:
    """Name of a new staging folder, which says whose process it is."""
    return f"{_STAGING_PREFIX}{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex}"


def publish(staging_dir: str, path: str, overwrite: bool) -> str | None:
    """`place` with all that goes before and after it."""
    sync_staged(staging_dir)
    target = place(staging_dir, path, overwrite)
    if target is not None:
        remove_hidden(path)
    return target


def place(staging_dir: str, path: str, overwrite: bool) -> str | None:
    """Make the staged files data of the table by one rename; the new folder, or None for nothing to add.

    With `overwrite` they replace all data there is. Call `sync_staged` before; after it `remove_hidden`, or
    `take_back` with the inode of the new folder.
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


def link_files(path: str, newest: int | None, staging_dir: str) -> None:
    """Give the visible files up to the generation `newest` second names in a staging folder, in the order of their
    rows. Call it while the folder's readers keep them.
    """
    try:
        files = [file for _, files in visible_generations(path, newest) for file in files]
        for number, file in enumerate(files):
            Path(staging_dir, f"{number:07d}-{_first_name(file.path)}").hardlink_to(file.path)
    except OSError as error:
        raise io_error(error, path) from None


def _first_name(path: str) -> str:
    """Name of a file without what second names begin with: it would grow with every rollback."""
    name = Path(path).name
    while name[:7].isdecimal() and name[7:8] == "-":
        name = name[8:]
    return name


def place_fold(
    staging_dir: str, path: str, folded: Sequence[tuple[Generation, Sequence[DataFile]]], newest: int | None
) -> str | None:
    """Put the staged files in the place of generations that they have the rows of, by one rename; the new folder.

    `folded`: what `visible_generations` gave. None where that is not side by side, or not the same, any more. Call it
    while no other writer places anything.
    """
    first, last = folded[0][0].first, folded[-1][0].last
    target = str(Path(path, f"delta_{first:07d}_{last:07d}"))
    now = [(one, files) for one, files in visible_generations(path, newest) if first <= one.first <= last]
    if now != [(one, list(files)) for one, files in folded] or os.path.lexists(target):
        return None
    try:
        Path(staging_dir).rename(target)
        _sync_rename(staging_dir, target)
    except OSError as error:
        raise io_error(error, path) from None
    return target


def take_back(folder: str, inode: int) -> None:
    """Undo `place` or `place_generation`, unless another folder has the name by now."""
    with suppress(OSError):
        if Path(folder).stat().st_ino == inode:
            discard_staging(folder)


def place_generation(staging_dir: str, path: str, newest: int | None, overwrite: bool) -> str:
    """Put the staged files behind generation `newest`, where nobody sees them until it is raised to the result's.

    What lies right behind `newest` is left from a statement that was killed, and goes. Folders are not listed: there
    may be many. Call `sync_staged` before and `sync_folders` after, and hold other writers off.
    """
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
        kind = "base" if overwrite else "delta"
        if newest is None:
            return _rename_to_next(staging_dir, path, kind)
        names = [str(Path(path, f"{one}_{newest + 1:07d}")) for one in ("base", "delta")]
        if newest == 0 or any(map(os.path.lexists, names)):
            remove_beyond(path, newest)
        target = str(Path(path, f"{kind}_{newest + 1:07d}"))
        Path(staging_dir).rename(target)
        return target
    except OSError as error:
        raise io_error(error, path) from None


def sync_staged(staging_dir: str) -> None:
    """Before files are put in place: they reach the disk, many at once."""
    _sync_many([file.path for file in files_below(staging_dir)])


def sync_folders(paths: Iterable[str]) -> None:
    """After `place_generation`: what the folders list reaches the disk."""
    _sync_many(list(dict.fromkeys(paths)))


def _sync_many(paths: Sequence[str]) -> None:
    try:
        if len(paths) == 1:
            _sync_one(paths[0])
            return
        with ThreadPoolExecutor(_SYNC_THREADS) as pool:
            list(pool.map(_sync_one, paths))
    except OSError as error:
        raise io_error(error, paths[0]) from None


def remove_first_generations(path: str) -> None:
    """Remove the files of a CREATE TABLE AS from a new folder, and the folder where it holds nothing else."""
    for folder, names, _ in os.walk(path):
        if "base_0000001" in names:
            _remove(Path(folder, "base_0000001"))
    remove_empty(path)


def remove_empty(path: str) -> None:
    """Folders that hold nothing, at and below `path`."""
    for folder, _, _ in os.walk(path, topdown=False):
        remove_empty_one(folder)


def remove_empty_one(folder: str) -> bool:
    """Whether the folder held nothing, and is gone."""
    try:
        Path(folder).rmdir()
    except OSError:
        return False
    return True


def remove_beyond(path: str, newest: int) -> None:
    """Generations after `newest`, which nobody sees."""
    for name in names_in(path):
        if Generation.of(name).last > newest:
            _remove(Path(path, name))


def discard_staging(staging_dir: str) -> None:
    """Free what a failed write left; nothing happens where the folder is gone.

    A task may outlive its statement: it finds nothing any more under the name that it knows.
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
        if name.startswith(_STAGING_PREFIX) and is_abandoned(name):
            shutil.rmtree(Path(path, name), ignore_errors=True)


def remove_hidden(path: str, newest: int | None = None, among: Collection[str] | None = None) -> None:
    """Delete the data of `hidden_names`, or those of them that are `among` these; and staging folders of dead processes
    of this machine.
    """
    remove_abandoned(path)
    hidden = hidden_names(path, newest)
    for name in sorted(hidden if among is None else hidden.intersection(among)):
        _remove(Path(path, name))


def _rename_to_next(staging_dir: str, path: str, kind: str) -> str:
    """Two writers may pick the same number: the later one finds the name taken and picks the next."""
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
    """The rename reaches the disk, or is undone: a statement that fails has changed nothing."""
    try:
        _sync_one(str(Path(target).parent))
    except OSError:
        with suppress(OSError):
            Path(target).rename(staging_dir)
        shutil.rmtree(target, ignore_errors=True)
        raise


def _sync_one(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_abandoned(name: str) -> bool:
    """True for the name of a staging folder whose process, of this machine, is dead."""
    host, _, rest = name.removeprefix(_STAGING_PREFIX).rpartition("-")[0].rpartition("-")
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
    """Remove a file, or a folder at once: nobody finds a part of it under its name."""
    if path.is_dir() and not path.is_symlink():
        discard_staging(str(path))
    else:
        path.unlink(missing_ok=True)

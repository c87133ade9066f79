"""Gate for paths that statements name: where they may lead, and which files may be read whole."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from sharkpy.base import uri
from sharkpy.base.errors import NotAllowedError, SourceError
from sharkpy.base.locations import STATE_FOLDER
from sharkpy.catalog.local_path import local_path

MOST_BYTES = 16 << 20
"""Limit on a file that is read whole, such as a schema."""
_ENCODED = ("http", "https")
"""Schemes of locations that are encoded as URLs are; names in others are as they are written."""


@dataclass(frozen=True, slots=True)
class PathGate:
    """Gate of a session, which each path of a statement passes before it is opened.

    1. `folders`: a path has to lie in one of them; None: anywhere.
    2. `closed`: folders of the engine itself: no path leads into them, nor, where `folders` are given, to what holds
       them.
    3. Links and `..` are followed first. A refusal reads the same whether the path exists or not.
    4. Folders of tables are checked again at each use: a link may have taken their place (`check_folder`).
    5. `remote`: a remote location has to lie in one of these, by its text, where `folders` are given. None leads into
       the folder that the engine keeps for itself in a warehouse.
    """

    folders: tuple[Path, ...] | None = None
    closed: tuple[Path, ...] = ()
    remote: tuple[str, ...] = ()

    def check(self, path: str) -> str:
        """Real place that a path names; NotAllowedError if it is out of bounds."""
        place = Path(os.path.realpath(local_path(path)))
        closed = [_real(folder) for folder in self.closed]
        is_closed = any(place.is_relative_to(folder) for folder in closed)
        if is_closed or (self.folders is not None and any(folder.is_relative_to(place) for folder in closed)):
            raise NotAllowedError(f'"{path}" belongs to the engine', hint="choose another folder")
        if self.folders is not None and not any(place.is_relative_to(_real(folder)) for folder in self.folders):
            raise _out_of_bounds(path, (*self.folders, *self.remote))
        return str(place)

    def check_location(self, location: str) -> None:
        """`check` of where a table's files are to be, which may be remote. What the catalog has is read with the
        owner's keys, by all sessions: keys of a session's own do not open a location here.
        """
        if not uri.is_remote(location):
            self.check(location)
            return
        uri.check_no_secrets(location)
        check_not_engines(location)
        if not self.opens(location):
            raise _out_of_bounds(location, (*(self.folders or ()), *self.remote))

    def opens(self, location: str) -> bool:
        """True for a remote location within the bounds. Of a URL what counts is what its server will be asked for."""
        if self.folders is None:
            return True
        if uri.scheme_of(location) in _ENCODED:
            location = unquote(location)
        return any(uri.below(location, folder) is not None for folder in self.remote)

    def require_below(self, path: str) -> None:
        """NotAllowedError for a folder that is emptied or deleted, if it is an allowed folder as a whole."""
        if uri.is_remote(path):
            is_whole = any(uri.below(folder, path) is not None for folder in self.remote)
        else:
            place = os.path.realpath(local_path(path))
            is_whole = any(_real(folder).is_relative_to(place) for folder in self.folders or ())
        if is_whole:
            raise NotAllowedError(f'"{path}" cannot be replaced as a whole', hint="name a folder below it")

    def read_text(self, path: str) -> str:
        """Text of a small regular file; it is the file that was checked, even if a link changes meanwhile."""
        place = self.check(path)
        with open_regular(place) as file:
            self.check(_opened_place(file) or place)
            return read_whole(file, path)

    def check_outside(self, paths: Iterable[str], folder: str | None) -> None:
        """NotAllowedError for local files that a table has, by their real places, out of its folder and the bounds."""
        if self.folders is None or (folder is not None and uri.is_remote(folder)):
            return
        home = None if folder is None else Path(os.path.realpath(local_path(folder)))
        for path in paths:
            if home is None or not Path(os.path.realpath(path)).is_relative_to(home):
                self.check(path)

    def check_folder(self, folder: str, home: str | None = None) -> None:
        """Check the folder of a table, or of a part of the table in `home`, before each use: NotAllowedError if links
        lead from within the bounds, or from within `home`, to somewhere else. A folder that is named by a path out of
        the bounds is there by the will of the engine's owner.
        """
        if self.folders is None or uri.is_remote(folder):
            return
        path = Path(os.path.abspath(local_path(folder)))  # noqa: PTH100  links stay
        place = Path(os.path.realpath(path))
        if place == path:
            return
        bounds, closed = [_real(one) for one in self.folders], [_real(one) for one in self.closed]
        is_below_home = False
        if home is not None and path.is_relative_to(os.path.abspath(local_path(home))):  # noqa: PTH100
            if place.is_relative_to(os.path.realpath(local_path(home))):
                return
            is_below_home = True
        if not is_below_home and not any(path.is_relative_to(one) for one in (*self.folders, *bounds)):
            return
        if any(path.is_relative_to(one) for one in (*self.closed, *closed)):
            # The engine's own files.
            bounds = closed
        elif any(place.is_relative_to(one) for one in closed):
            raise NotAllowedError(f'"{folder}" belongs to the engine', hint="choose another folder")
        if not any(place.is_relative_to(one) for one in bounds):
            raise _out_of_bounds(folder, (*self.folders, *self.remote))

    def check_links(self, folder: str) -> None:
        """Check the links among a table's files: NotAllowedError for one that leads out of its folder and the bounds.

        The folder itself may be out of bounds: the table's owner has made it.
        """
        if self.folders is None or uri.is_remote(folder):
            return
        home = Path(os.path.realpath(local_path(folder)))
        for link in _links(str(home), set()):
            if not Path(os.path.realpath(link)).is_relative_to(home):
                self.check(link)


def check_not_engines(location: str) -> None:
    """NotAllowedError for a remote location in the folder that the engine keeps for itself in some warehouse."""
    if STATE_FOLDER in location.split("/"):
        raise NotAllowedError(f'"{uri.shown(location)}" belongs to the engine', hint="choose another folder")


def _out_of_bounds(place: str, folders: Iterable[Path | str]) -> NotAllowedError:
    hint = f"allowed folders: {', '.join(map(str, folders)) or 'none'}; sharkpy server --location-folder allows more"
    return NotAllowedError(f'"{place}" is out of this session\'s bounds', hint=hint)


def open_regular(path: str) -> BinaryIO:
    """Open a regular file for reading. SourceError for any other: a pipe or a device may block, or never end."""
    try:
        _require_regular(path, Path(path).stat().st_mode)
        file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - the caller closes it
    except (FileNotFoundError, NotADirectoryError):
        raise SourceError(f'file or folder "{path}" does not exist', sqlstate="58P01") from None
    except OSError as error:
        raise SourceError(f'"{path}" cannot be read: {error.strerror}') from None
    try:
        _require_regular(path, os.fstat(file.fileno()).st_mode)
    except BaseException:
        file.close()
        raise
    return file


def read_whole(file: BinaryIO, path: str) -> str:
    """Text of an open file of at most MOST_BYTES, which is known before more is read; else SourceError."""
    try:
        content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise SourceError(f'"{path}" has more than {MOST_BYTES >> 20} MB, the limit of a file read whole')
        return content.decode("utf-8")
    except OSError as error:
        raise SourceError(f'"{path}" cannot be read: {error.strerror}') from None
    except UnicodeDecodeError:
        raise SourceError(f'"{path}" is no text in UTF-8') from None


def _require_regular(path: str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise SourceError(f'"{path}" is a folder, not a file')
    if not stat.S_ISREG(mode):
        raise SourceError(f'"{path}" is a device or a pipe, not a file')


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def _opened_place(file: BinaryIO) -> str | None:
    """Where an open file lies, as the system knows it; None where it does not tell."""
    try:
        return str(Path(f"/proc/self/fd/{file.fileno()}").readlink())
    except OSError:
        return None


def _links(folder: str, seen: set[tuple[int, int]]) -> Iterator[str]:
    """Links at and below a folder that may be data; what linked folders hold as well.

    A writer may delete files that newer ones hide meanwhile: a folder that is gone holds no links.
    """
    try:
        status = os.stat(folder)  # noqa: PTH116
        if (status.st_dev, status.st_ino) in seen:
            return
        seen.add((status.st_dev, status.st_ino))
        with os.scandir(folder) as scan:
            entries = [entry for entry in scan if not entry.name.startswith(("_", "."))]
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise SourceError(f'"{folder}" cannot be read: {error.strerror}') from None
    for entry in entries:
        if entry.is_symlink():
            yield entry.path
        if entry.is_dir():
            yield from _links(entry.path, seen)


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))

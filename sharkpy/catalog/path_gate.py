"""Paths in statements: local paths as users write them, and the gate that checks which files they name and which
of these may be read whole.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from sharkpy.base import uri
from sharkpy.base.errors import BindError, NotAllowedError, SourceError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.base.uri import STATE_FOLDER

MOST_BYTES = 16 << 20
"""Maximum size of a file that is read whole, such as a schema."""
_ENCODED = ("http", "https")
"""Schemes whose locations are URL-encoded. Locations of other schemes are taken literally."""


@dataclass(frozen=True, slots=True)
class PathGate:
    """Gate of a session, which checks each path of a statement before it is opened.

    1. `folders`: a path must be in one of them; None allows all paths.
    2. `closed`: folders of the engine itself. No path may lead into them. If `folders` is set, no path may lead to a
       parent of them either.
    3. Links and `..` are resolved first. A refusal is the same whether the path exists or not.
    4. Folders of tables are checked again at each use, since a link may have replaced them (`check_folder`).
    5. `remote`: if `folders` is set, a remote location must be in one of these, by its text. No location may lead into
       the engine's own folder in a warehouse.
    """

    folders: tuple[Path, ...] | None = None
    closed: tuple[Path, ...] = ()
    remote: tuple[str, ...] = ()

    def check(self, path: str) -> str:
        """Return the real path of a path. Raise NotAllowedError if it is out of bounds."""
        place = Path(os.path.realpath(local_path(path)))
        closed = [_real(folder) for folder in self.closed]
        is_closed = any(place.is_relative_to(folder) for folder in closed)
        if is_closed or (self.folders is not None and any(folder.is_relative_to(place) for folder in closed)):
            raise NotAllowedError(f'"{path}" belongs to the engine', hint="name another folder")
        if self.folders is not None and not any(place.is_relative_to(_real(folder)) for folder in self.folders):
            raise _out_of_bounds(path, (*self.folders, *self.remote))
        return str(place)

    def check_location(self, location: str) -> None:
        """Check the location of a table's files, which may be remote.

        All sessions read tables of the catalog with the owner's keys. So a session's own keys do not permit a location
        here.
        """
        if not uri.is_remote(location):
            self.check(location)
            return
        uri.check_no_secrets(location)
        check_not_engines(location)
        if not self.opens(location):
            raise _out_of_bounds(location, (*(self.folders or ()), *self.remote))

    def opens(self, location: str) -> bool:
        """Return True for a remote location within the bounds. A URL is decoded first, as its server does."""
        if self.folders is None:
            return True
        if uri.scheme_of(location) in _ENCODED:
            location = unquote(location)
        return any(uri.below(location, folder) is not None for folder in self.remote)

    def require_below(self, path: str) -> None:
        """Raise NotAllowedError if a folder to be emptied or deleted contains a whole allowed folder."""
        if uri.is_remote(path):
            is_whole = any(uri.below(folder, path) is not None for folder in self.remote)
        else:
            place = os.path.realpath(local_path(path))
            is_whole = any(_real(folder).is_relative_to(place) for folder in self.folders or ())
        if is_whole:
            raise NotAllowedError(f'"{path}" cannot be replaced completely', hint="name a folder below it")

    def read_text(self, path: str) -> str:
        """Return the text of a small regular file. It is the file that was checked, even if a link changes
        meanwhile.
        """
        place = self.check(path)
        with open_regular(place) as file:
            self.check(_opened_place(file) or place)
            return read_whole(file, path)

    def check_outside(self, paths: Iterable[str], folder: str | None) -> None:
        """Raise NotAllowedError for local files of a table whose real path is out of both its folder and the bounds."""
        if self.folders is None or (folder is not None and uri.is_remote(folder)):
            return
        home = None if folder is None else Path(os.path.realpath(local_path(folder)))
        for path in paths:
            if home is None or not Path(os.path.realpath(path)).is_relative_to(home):
                self.check(path)

    def check_folder(self, folder: str, home: str | None = None) -> None:
        """Check the folder of a table, or of a part of the table in `home`, before each use.

        Raise NotAllowedError if links lead out of the bounds or out of `home`. If the path of a folder is itself out of
        the bounds, the engine's owner has permitted it.
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
            # The path is one of the engine's own files.
            bounds = closed
        elif any(place.is_relative_to(one) for one in closed):
            raise NotAllowedError(f'"{folder}" belongs to the engine', hint="name another folder")
        if not any(place.is_relative_to(one) for one in bounds):
            raise _out_of_bounds(folder, (*self.folders, *self.remote))

    def check_links(self, folder: str) -> None:
        """Raise NotAllowedError if a link among a table's files leads out of both its folder and the bounds.

        The folder itself may be out of bounds: the table's owner has created it.
        """
        if self.folders is None or uri.is_remote(folder):
            return
        home = Path(os.path.realpath(local_path(folder)))
        for link in _links(str(home), set()):
            if not Path(os.path.realpath(link)).is_relative_to(home):
                self.check(link)


def check_not_engines(location: str) -> None:
    """Raise NotAllowedError for a remote location in the engine's own folder of some warehouse."""
    if STATE_FOLDER in location.split("/"):
        raise NotAllowedError(f'"{uri.redacted(location)}" belongs to the engine', hint="name another folder")


def _out_of_bounds(place: str, folders: Iterable[Path | str]) -> NotAllowedError:
    hint = f"allowed folders: {', '.join(map(str, folders)) or 'none'}; sharkpy server --location-folder allows more"
    return NotAllowedError(f'"{place}" is out of this session\'s bounds', hint=hint)


def open_regular(path: str) -> BinaryIO:
    """Open a regular file for reading. Raise SourceError for any other file: a pipe or device may block or
    never end.
    """
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
    """Return the text of an open file. Raise SourceError if it has more than MOST_BYTES, before more is read."""
    try:
        content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise SourceError(
                f'"{path}" has more than {MOST_BYTES >> 20} MB, the limit for a file that is read completely'
            )
        return content.decode("utf-8")
    except OSError as error:
        raise SourceError(f'"{path}" cannot be read: {error.strerror}') from None
    except UnicodeDecodeError:
        raise SourceError(f'"{path}" is not UTF-8 text') from None


def _require_regular(path: str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise SourceError(f'"{path}" is a folder, not a file')
    if not stat.S_ISREG(mode):
        raise SourceError(f'"{path}" is a device or a pipe, not a file')


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def _opened_place(file: BinaryIO) -> str | None:
    """Return the path of an open file from the system, or None if the system does not report it."""
    try:
        return str(Path(f"/proc/self/fd/{file.fileno()}").readlink())
    except OSError:
        return None


def _links(folder: str, seen: set[tuple[int, int]]) -> Iterator[str]:
    """Yield the links in a folder that may be data, also within linked folders.

    Writers may delete hidden files meanwhile: a folder that has been removed has no links.
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


def local_path(location: str) -> str:
    """Return the absolute path of a `file:` URI or plain path. Raise UnsupportedError for a remote location.

    Only `~` is expanded, to the home of the engine's user: `~name` would reveal the users of the machine.
    """
    scheme = uri.scheme_of(location)
    if not scheme:
        return _checked(str((Path(location).expanduser() if _is_home(location) else Path(location)).absolute()))
    check_local(location)
    return _checked(str(Path("/", location[len(scheme) + 1 :].lstrip("/"))))


def path_or_uri(location: str) -> str:
    """Return the absolute path of a local location, or a remote location without a slash at the end."""
    return location.rstrip("/") if uri.is_remote(location) else local_path(location)


def check_local(location: str) -> None:
    """Raise UnsupportedError, which names the file system, for a remote location."""
    if uri.is_remote(location):
        uri.check_no_secrets(location)
        scheme, place = uri.scheme_of(location), uri.redacted(location)
        message = f'file system "{scheme}" of "{place}": only local files are supported'
        raise UnsupportedError(message, hint="name a path of this machine")


def _is_home(location: str) -> bool:
    return location == "~" or location.startswith("~/")


def _checked(path: str) -> str:
    try:
        named = os.fsencode(path)
    except UnicodeEncodeError:
        named = b"\0"
    if b"\0" in named:
        raise BindError(f"{path!r} cannot be a path: it has characters that no file's name has", sqlstate="42602")
    return path

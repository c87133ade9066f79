"""Call about a folder: its entries, for the completion of paths in an editor."""

from __future__ import annotations

import os
from itertools import islice

from sharkpy.base.errors import NotAllowedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.path_gate import PathGate
from sharkpy.execution.tables.file_tables import format_of
from sharkpy.sources.folders.generations import is_hidden_name
from sharkpy.web.listings import check_parameters
from sharkpy.web.requests import ApiRequest, Parameter

_MOST_ENTRIES = 300
_MOST_NAMES = 100_000
"""Most names of a folder that are read; this takes a tenth of a second."""

FOLDER_PARAMETERS = (
    Parameter("path", "The beginning of a local path: a folder, or also the beginning of a name in it"),
)


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A folder or a file. `format`: the format that the file's name tells."""

    name: str
    is_folder: bool
    bytes: int | None
    format: str | None


@dataclass(frozen=True, slots=True)
class FolderAnswer:
    """Entries of a folder by name. Without `is_whole`, some are left out."""

    entries: list[FolderEntry]
    is_whole: bool


def folder(request: ApiRequest) -> FolderAnswer:
    """List what a statement of the reader may name: the entries that continue the path, except hidden ones.

    A folder that does not exist has no entries, as a folder that statements may not name. The path may lead to folders
    that they may name: those are the entries, as the hint of a refused statement has them.
    """
    check_parameters(request, FOLDER_PARAMETERS)
    given, gate = request.http.query_params.get("path", ""), request.parts.opener.restrictions.gate
    above, slash, start = given.rpartition("/")
    try:
        place = gate.check(above + slash or ".")
    except NotAllowedError:
        allowed = [str(one) for one in gate.folders or () if str(one).startswith(given) and _may_name(str(one), gate)]
        found = [FolderEntry(one[len(above + slash) :], is_folder=True, bytes=None, format=None) for one in allowed]
        return FolderAnswer(found, is_whole=True)
    return _listed(place, start.lower(), gate)


def _listed(place: str, start: str, gate: PathGate) -> FolderAnswer:
    try:
        with os.scandir(place) as scan:
            names = islice(scan, _MOST_NAMES)
            found = [*islice((one for one in names if _fits(one.name, start)), _MOST_ENTRIES)]
            is_whole = next(scan, None) is None
    except OSError:
        return FolderAnswer([], is_whole=True)
    entries = [entry for one in found if (entry := _entry(one, gate)) is not None]
    return FolderAnswer(sorted(entries, key=lambda entry: entry.name), is_whole)


def _fits(name: str, start: str) -> bool:
    return name.lower().startswith(start) and not is_hidden_name(name)


def _entry(found: os.DirEntry[str], gate: PathGate) -> FolderEntry | None:
    """Return a folder or a regular file that statements may name, or None, also if it is gone."""
    try:
        if not _may_name(found.path, gate):
            return None
        if found.is_dir():
            return FolderEntry(found.name, is_folder=True, bytes=None, format=None)
        if found.is_file():
            return FolderEntry(found.name, is_folder=False, bytes=found.stat().st_size, format=format_of(found.name))
    except OSError:
        pass
    return None


def _may_name(path: str, gate: PathGate) -> bool:
    """Whether statements may name a path: its name is UTF-8, and no link leads out of the session's bounds."""
    try:
        path.encode()
        gate.check(path)
    except (UnicodeEncodeError, NotAllowedError):
        return False
    return True

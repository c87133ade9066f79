"""Listed folders of managed tables, which formats of the catalog before 12 have: their files become rows of the log.

A folder holds plain files (generation 0, subfolders included), `delta_N` of INSERT INTO and `base_N` of INSERT
OVERWRITE. The newest base hides everything older. `delta_M_N` replaces the generations from M to N. Names that begin
with `_` or `.` are never data.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from sharkpy.base import uri
from sharkpy.base.errors import SourceError
from sharkpy.base.uri import Locations, is_outside
from sharkpy.catalog.lake_tables import LAKES

_GENERATION = re.compile(r"(base|delta)_(?:(\d+)_)?(\d+)")
"""Kind; first generation, for a fold; last or only generation."""
_ALL = 1 << 62
"""Last generation that counts, if all do."""
_NO_FILES = -1
"""Last generation of a table with Hive partitions, which have the files."""
_ADD_FOLDER = "INSERT INTO folder_ (folder, newest, rewritten) VALUES (?, ?, ?)"
_ADD_FILE = (
    "INSERT INTO file_ (folder_id, position, added, removed, path, size_bytes, modified_ns)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)


def log_listed_folders(connection: sqlite3.Connection, locations: Locations) -> None:
    """Log the files of managed tables in the caller's transaction. The files stay in their places.

    1. Folders outside a local warehouse stay listed. So does a folder with another table's folder in it, or with
       something that is not a file with a name in UTF-8.
    2. A generation keeps its number, as the number of a commit. Later commits have higher numbers.
    3. Files of a generation that was never counted are removed ones.

    Raise SourceError 58030 if a folder cannot be read.
    """
    if not locations.warehouse or uri.is_remote(locations.warehouse):
        return
    logged = {folder for (folder,) in connection.execute("SELECT folder FROM folder_")}
    found = _folders(connection, locations)
    places, highest = sorted(found), 0
    for folder, counted in found.items():
        if counted is None or folder in logged or (counted != _NO_FILES and _has_inside(folder, places)):
            continue
        content: _Content | None = ([], 0, 0) if counted == _NO_FILES else _content(locations.absolute(folder), counted)
        if content is None:
            continue
        files, newest, rewritten = content
        folder_id = connection.execute(_ADD_FOLDER, (folder, newest, rewritten)).lastrowid
        start = "" if folder == "." else f"{folder}/"
        rows = ((folder_id, *numbers, start + path, size, at) for *numbers, path, size, at in files)
        connection.executemany(_ADD_FILE, rows)
        highest = max(highest, newest)
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'commit_'").fetchone()
    if highest > (0 if row is None else row[0]):
        now = time.time_ns() // 1_000_000
        connection.execute("INSERT INTO commit_ (commit_id, time_ms) VALUES (?, ?)", (highest, now))


def begin_histories(connection: sqlite3.Connection) -> None:
    """Begin the history of tables with a log that have none, with a commit in the caller's transaction. Continuous
    tables have epochs instead.
    """
    now = time.time_ns() // 1_000_000
    commit = connection.execute("INSERT INTO commit_ (time_ms) VALUES (?)", (now,)).lastrowid
    folders = {folder for (folder,) in connection.execute("SELECT folder FROM folder_ WHERE table_id = ''")}
    for table_id, text in connection.execute("SELECT table_id, definition FROM table_").fetchall():
        table = json.loads(text)
        location = table["location"]
        if location not in folders or table.get("continuous") or table.get("state_of"):
            continue
        below = "folder = ? OR (folder > ? AND folder < ?)"
        sql = f"UPDATE folder_ SET table_id = ? WHERE {below}"
        connection.execute(sql, (table_id, location, f"{location}/", f"{location}0"))
        connection.execute("INSERT INTO change_ VALUES (?, ?, 0, 0, 0, 0)", (table_id, commit))


def _folders(connection: sqlite3.Connection, locations: Locations) -> dict[str, int | None]:
    """Return the stored folders of tables and Hive partitions, each with the last generation that counts. It is None
    for folders outside the warehouse, and of tables that are not managed.
    """
    newest = dict(connection.execute("SELECT table_id, newest FROM generation_"))
    found, homes = dict[str, int | None](), dict[str, str]()
    for table_id, text in connection.execute("SELECT table_id, definition FROM table_"):
        table = json.loads(text)
        if (location := table["location"]) is None:
            continue
        found.setdefault(location, None)
        if table["kind"] == "MANAGED_TABLE" and table["format"] not in LAKES and not is_outside(location):
            homes[table_id] = locations.absolute(location)
            counted = newest.get(table_id, 0 if table.get("continuous") else _ALL)
            found[location] = _NO_FILES if table.get("partition_columns") else counted
    for table_id, name, place, counted in connection.execute("SELECT table_id, name, folder, newest FROM partition_"):
        home = homes.get(table_id)
        if home is not None:
            folder = locations.stored(uri.join(home, name)) if place is None else place
            # Two Hive partitions may share a folder.
            last, known = _ALL if counted is None else counted, found.get(folder)
            found[folder] = None if is_outside(folder) else last if known is None else max(last, known)
        elif place is not None:
            found.setdefault(place, None)
    return found


def _has_inside(folder: str, places: Sequence[str]) -> bool:
    """Return True if one of the sorted `places` is in a folder."""
    next_one = bisect_left(places, f"{folder}/")
    return folder == "." or (next_one < len(places) and places[next_one].startswith(f"{folder}/"))


_File: TypeAlias = tuple[int, int, int | None, str, int, int]
"""Position of a file, the commits that added and removed it, its path, size and time."""
_Content: TypeAlias = tuple[list[_File], int, int]
"""Files of a folder in the order of their rows, the last generation that counts, and the last base or fold."""


def _content(path: str, counted: int) -> _Content | None:
    """Return the content of a folder, or None if it stays listed. A missing folder is empty."""
    try:
        try:
            entries = _entries(path)
        except FileNotFoundError:
            return [], 0 if counted == _ALL else counted, 0
        return _with_files([_Generation.of(entry) for entry in entries], counted)
    except (FileNotFoundError, NotADirectoryError, UnicodeEncodeError):
        return None
    except OSError as error:
        message = f'the folder "{path}" of a table cannot be read: {error.strerror}'
        raise SourceError(message, hint="make it readable, and open the warehouse again") from None


class _Generation(NamedTuple):
    """Entry of a folder: a generation, a fold of the generations from `first` to `last`, or plain files."""

    entry: os.DirEntry[str]
    first: int
    last: int
    is_base: bool

    @classmethod
    def of(cls, entry: os.DirEntry[str]) -> _Generation:
        match = _GENERATION.fullmatch(entry.name)
        if match is None:
            return cls(entry, 0, 0, False)
        last = int(match.group(3))
        return cls(entry, int(match.group(2) or last), last, match.group(1) == "base")


def _with_files(generations: Sequence[_Generation], counted: int) -> _Content | None:
    if any(max(one.first, one.last) > _ALL for one in generations):
        return None
    counting = [one for one in generations if one.last <= counted]
    bases = sorted(one.last for one in counting if one.is_base)
    folds, files = list[int](), list[_File]()
    for one in sorted(generations, key=lambda one: (one.first, -one.last, not one.is_base, one.entry.name)):
        after = bisect_right(bases, one.last)
        hidden = [*bases[after : after + 1], *(fold for fold in folds if fold >= one.last)]
        removed = min(hidden, default=None) if one.last <= counted else counted
        if one.first < one.last <= counted:
            folds.append(one.last)
        for path, status in _files(one.entry, one.entry.name):
            if not stat.S_ISREG(status.st_mode):
                return None
            path.encode()
            files.append((one.first, one.last, removed, path, status.st_size, status.st_mtime_ns))
    newest = max((one.last for one in counting), default=0) if counted == _ALL else counted
    return files, newest, max([*bases, *folds], default=0)


def _files(entry: os.DirEntry[str], path: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files at or below an entry, with their paths relative to the table's folder."""
    if not entry.is_dir():
        yield path, entry.stat()
        return
    for inner in _entries(entry.path):
        yield from _files(inner, f"{path}/{inner.name}")


def _entries(folder: str) -> Iterable[os.DirEntry[str]]:
    """Return the entries of a folder by name."""
    with os.scandir(folder) as scan:
        return sorted((entry for entry in scan if not entry.name.startswith(("_", "."))), key=lambda entry: entry.name)

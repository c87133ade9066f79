"""Data files of a table's folder in the local file system.

Generations are folders there (`sharkpy.sources.folders.generations`). Paths are absolute.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.errors import SourceError
from sharkpy.base.records import dataclass
from sharkpy.catalog.path_gate import open_regular
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.folders.generations import Generation, hidden_of, is_hidden_name, visible_of

NEVER_MODIFIED = 0
"""Time of files that were not checked: their format writes each file once."""
_LIST_TRIES = 10
_MOST_CACHED = 100_000
"""Most files in the cache of generations, for all tables."""
_TICK_NS = 100_000_000
"""Time within which a second change of a folder may not change its times; a generous upper bound."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file in a listing: path, size, time and `tag` identify its content.

    `path`: a URI if the file is remote. `partition`: name of its Hive partition. `form`: as in `Split`. `tag`: tag of a
    remote file's content, if its store has tags. `access`: id of the access to its store, for remote files only; it is
    not part of the file's identity.
    """

    path: str
    size_bytes: int
    modified_ns: int
    partition: str = ""
    form: str = ""
    tag: str = ""
    access: str = field(default="", compare=False)

    def in_partition(self, name: str, form: str = "") -> DataFile:
        """The file in a Hive partition. Tables have many files, and `replace` would take several times as long."""
        return DataFile(self.path, self.size_bytes, self.modified_ns, name, form or self.form, self.tag, self.access)


def list_data_files(path: str, newest: Callable[[], int | None] | None = None) -> list[DataFile]:
    """The visible data files, oldest generation first, then by path. The path may also be that of one file.

    `newest` returns the last generation that counts. It is called before and after the folder is listed, so that the
    listing includes every generation that counts, and what it hides.

    SourceError 58P01 if the path does not exist, 58030 if it cannot be read.
    """
    try:
        if Path(path).is_file():
            status = Path(path).stat()
            return [DataFile(path, status.st_size, status.st_mtime_ns)]
        return _listed(path, newest)
    except OSError as error:
        raise io_error(error, path) from None


def _listed(path: str, newest: Callable[[], int | None] | None) -> list[DataFile]:
    tries = 0
    while True:
        tries += 1
        counted = None if newest is None else newest()
        names = names_in(path)
        if newest is not None and newest() != counted and tries < _LIST_TRIES:
            # A generation that was placed meanwhile may not be among the names, and may hide some of them.
            continue
        try:
            folder = str(Path(path))
            return [file for entry in visible_of(names, counted) for file in _files_of(folder, entry)]
        except FileNotFoundError:
            # A failed write took back a listed generation, or a base or a fold has replaced it.
            if tries >= _LIST_TRIES:
                raise


def list_partition_files(path: str, newest: int | None, partition: str) -> list[DataFile]:
    """Files of a Hive partition, up to the generation `newest`; none if it has no folder."""
    try:
        found = _listed(path, lambda: newest)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not os.path.lexists(path):
            return []
        raise io_error(error, path) from None
    return [file.in_partition(partition) for file in found]


def delta_files(path: str, generations: Iterable[int]) -> list[DataFile] | None:
    """Files of some generations of INSERT INTO; None if one is missing, for example after a fold."""
    found = list[DataFile]()
    try:
        for number in generations:
            found += _GENERATIONS.files(str(Path(path, f"delta_{number:07d}")))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise io_error(error, path) from None
    return found


def visible_generations(path: str, newest: int | None = None) -> list[tuple[Generation, list[DataFile]]]:
    """Visible generations in a table's folder with their files, in the order of their rows."""
    try:
        folder = str(Path(path))
        return [(entry, _files_of(folder, entry)) for entry in visible_of(names_in(path), newest)]
    except OSError as error:
        raise io_error(error, path) from None


def files_below(folder: str) -> list[DataFile]:
    """Data files at or below a folder, by name."""
    try:
        return list(_files(folder))
    except OSError as error:
        raise io_error(error, folder) from None


def newest_generation(path: str) -> int:
    """Number of the newest generation; 0 if there is none."""
    return max((Generation.of(name).last for name in names_if_any(path)), default=0)


def hidden_names(path: str, newest: int | None = None) -> frozenset[str]:
    """Names in a folder of data that a newer base or a fold hides: see `hidden_of`."""
    return hidden_of(names_if_any(path), newest)


def _files_of(folder: str, entry: Generation) -> list[DataFile]:
    path = f"{folder}/{entry.name}"
    return _GENERATIONS.files(path) if entry.last else list(_files(path))


class _GenerationCache:
    """Cache of the files of generations, since a table may have thousands of generations.

    A generation is written once. As long as the times of its folder are unchanged, only its files are checked one by
    one, which takes a fifth of the time of a listing.
    """

    def __init__(self) -> None:
        self._found: dict[str, tuple[tuple[int, ...], list[DataFile]]] = {}
        self._num_files = 0
        self._lock = threading.Lock()

    def files(self, path: str) -> list[DataFile]:
        """Data files at or below the path of a generation, by name."""
        status = os.stat(path)  # noqa: PTH116  a Path takes longer than the call
        identity = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
        known = self._found.get(path)
        if known is not None and known[0] == identity:
            return [_refreshed(file) for file in known[1]]
        if not stat.S_ISDIR(status.st_mode):
            return [_data_file(path, status)]
        entries = _visible_entries(path)
        found = [file for entry in entries for file in _files_at(entry)]
        is_settled = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _TICK_NS
        # The times do not cover subfolders, and an entry without files would never count towards the limit.
        if found and is_settled and not any(entry.is_dir() for entry in entries):
            self._note(path, identity, found)
        return found

    def _note(self, path: str, identity: tuple[int, ...], found: list[DataFile]) -> None:
        with self._lock:
            _, before = self._found.pop(path, ((), []))
            self._found[path] = identity, found
            self._num_files += len(found) - len(before)
            while self._num_files > _MOST_CACHED and self._found:
                _, gone = self._found.pop(next(iter(self._found)))
                self._num_files -= len(gone)


_GENERATIONS = _GenerationCache()


def _files(path: str) -> Iterator[DataFile]:
    """Data files at or below `path`, by name."""
    if not Path(path).is_dir():
        yield _data_file(path, Path(path).stat())
        return
    for entry in _visible_entries(path):
        yield from _files_at(entry)


def _visible_entries(folder: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as scan:
        return sorted((entry for entry in scan if not is_hidden_name(entry.name)), key=lambda entry: entry.name)


def _files_at(entry: os.DirEntry[str]) -> Iterator[DataFile]:
    if entry.is_dir():
        yield from _files(entry.path)
    else:
        yield _data_file(entry.path, entry.stat())


def _refreshed(file: DataFile) -> DataFile:
    """A cached file, with its current size and time."""
    status = os.stat(file.path)  # noqa: PTH116  a Path takes longer than the call
    is_same = status.st_mtime_ns == file.modified_ns and status.st_size == file.size_bytes
    return file if is_same else _data_file(file.path, status)


def _data_file(path: str, status: os.stat_result) -> DataFile:
    """A regular file; SourceError for a pipe or a device, whose reader would wait for ever."""
    if not stat.S_ISREG(status.st_mode):
        raise SourceError(f'"{path}" is a device or a pipe, not a file')
    check_name(path)
    return DataFile(path, status.st_size, status.st_mtime_ns)


def numbered_name(number: int, path: str) -> str:
    """Return a file name in the order of `number` for a copy of the file at a path or URI. Numbers of earlier copies do
    not add up in it.
    """
    name = uri.name_of(path)
    while name[:7].isdecimal() and name[7:8] == "-":
        name = name[8:]
    return f"{number:07d}-{name}"


def check_name(path: str) -> None:
    """Raise SourceError for a path that is not UTF-8: no text of a statement or a plan can name it."""
    try:
        path.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "replace")
        raise SourceError(f'the name of "{shown}" is not UTF-8', hint="rename the file or its folder") from None


def names_in(path: str) -> list[str]:
    """Names of all entries of a folder."""
    return os.listdir(path)  # noqa: PTH208  a Path for each of thousands of folders would cost more than the listing


def names_if_any(path: str) -> list[str]:
    """Names of the entries of a folder that may have been dropped."""
    try:
        return names_in(path)
    except FileNotFoundError:
        return []


def require_readable(path: str) -> None:
    """Raise SourceError if a file named by a user is missing, is not a regular file, or cannot be read."""
    try:
        with open_regular(path) as file:
            file.read(1)
    except OSError as error:
        raise io_error(error, path) from None

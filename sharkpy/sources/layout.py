"""Files of a folder in the local file system: which are a table's data.

Generations are folders there (`sharkpy.sources.folders.generations`). Paths are absolute.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sharkpy.base.errors import SourceError
from sharkpy.catalog.path_gate import open_regular
from sharkpy.sources.failures import io_error
from sharkpy.sources.folders.generations import Generation, hidden_of, is_hidden_name, visible_of

NEVER_MODIFIED = 0
"""Time of files that were not looked at: their format writes each once."""
_LIST_TRIES = 10
_MOST_KNOWN = 100_000
"""Files of generations that are known, of all tables."""
_TICK_NS = 100_000_000
"""Time in which a second change of a folder may leave its times as the first one did; many times what it is."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file as listed: path, size, time and `tag` identify its content. `path` is a URI where it is remote.

    `partition`: its Hive partition's name. `form`: as in `Split`. `tag`: the tag of a remote file's content, where its
    store gives one. `access`: id of the access to its store, which remote files alone have; it says nothing about the
    file.
    """

    path: str
    size_bytes: int
    modified_ns: int
    partition: str = ""
    form: str = ""
    tag: str = ""
    access: str = field(default="", compare=False)

    def in_partition(self, name: str, form: str = "") -> DataFile:
        """The file as one of a Hive partition. Tables have many: `replace` takes several times as long."""
        return DataFile(self.path, self.size_bytes, self.modified_ns, name, form or self.form, self.tag, self.access)


def list_data_files(path: str, newest: Callable[[], int | None] | None = None) -> list[DataFile]:
    """The visible data files, oldest generation first, then by path. The path may also be that of one file.

    `newest` gives the last generation that counts. It is asked before and after the folder is listed: what lies beyond
    it was not published by then, and what it hides is known.

    SourceError 58P01 where the path does not exist, 58030 where it cannot be read.
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
            # What has come to count meanwhile may not be among the names, and hide some of them.
            continue
        try:
            folder = str(Path(path))
            return [file for entry in visible_of(names, counted) for file in _files_of(folder, entry)]
        except FileNotFoundError:
            # A write that failed took back what was listed, or a base or a fold has come in its place.
            if tries >= _LIST_TRIES:
                raise


def list_partition_files(path: str, newest: int | None, partition: str) -> list[DataFile]:
    """Files of a Hive partition, up to the generation `newest`; none where it has no folder."""
    try:
        found = _listed(path, lambda: newest)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not os.path.lexists(path):
            return []
        raise io_error(error, path) from None
    return [file.in_partition(partition) for file in found]


def delta_files(path: str, generations: Iterable[int]) -> list[DataFile] | None:
    """Files of some generations of INSERT INTO; None where one of them is not there, as it is after a fold."""
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
    """What counts in a table's folder, with its files, in the order of its rows."""
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
    """0 where there is no generation at all."""
    return max((Generation.of(name).last for name in names_if_any(path)), default=0)


def hidden_names(path: str, newest: int | None = None) -> frozenset[str]:
    """Names in a folder of data that a newer base or a fold hides, as `hidden_of` says."""
    return hidden_of(names_if_any(path), newest)


def _files_of(folder: str, entry: Generation) -> list[DataFile]:
    path = f"{folder}/{entry.name}"
    return _GENERATIONS.files(path) if entry.last else list(_files(path))


class _KnownGenerations:
    """Files of generations as they were found last. Each is written once: as long as the times of its folder are the
    same, its files are looked at one by one, which takes a fifth of the time of listing it. A table may have thousands.
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
            return [_as_it_is(file) for file in known[1]]
        if not stat.S_ISDIR(status.st_mode):
            return [_data_file(path, status)]
        entries = _visible_entries(path)
        found = [file for entry in entries for file in _files_at(entry)]
        is_settled = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _TICK_NS
        # Its times say nothing about the folders in it, and what has no files would never be counted.
        if found and is_settled and not any(entry.is_dir() for entry in entries):
            self._note(path, identity, found)
        return found

    def _note(self, path: str, identity: tuple[int, ...], found: list[DataFile]) -> None:
        with self._lock:
            _, before = self._found.pop(path, ((), []))
            self._found[path] = identity, found
            self._num_files += len(found) - len(before)
            while self._num_files > _MOST_KNOWN and self._found:
                _, gone = self._found.pop(next(iter(self._found)))
                self._num_files -= len(gone)


_GENERATIONS = _KnownGenerations()


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


def _as_it_is(file: DataFile) -> DataFile:
    """A file that is known, as it is now."""
    status = os.stat(file.path)  # noqa: PTH116  a Path takes longer than the call
    is_same = status.st_mtime_ns == file.modified_ns and status.st_size == file.size_bytes
    return file if is_same else _data_file(file.path, status)


def _data_file(path: str, status: os.stat_result) -> DataFile:
    """A regular file; SourceError for a pipe or a device, whose reader would wait for ever."""
    if not stat.S_ISREG(status.st_mode):
        raise SourceError(f'"{path}" is a device or a pipe, not a file')
    check_name(path)
    return DataFile(path, status.st_size, status.st_mtime_ns)


def check_name(path: str) -> None:
    """SourceError for a path that is not UTF-8: no text of a statement or a plan can name it."""
    try:
        path.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "replace")
        raise SourceError(f'the name of "{shown}" is not UTF-8', hint="rename the file or its folder") from None


def names_in(path: str) -> list[str]:
    """Names of all that is in a folder."""
    return os.listdir(path)  # noqa: PTH208  a Path for each of thousands of folders would cost more than the listing


def names_if_any(path: str) -> list[str]:
    """What is in a folder that may have been dropped."""
    try:
        return names_in(path)
    except FileNotFoundError:
        return []


def require_readable(path: str) -> None:
    """SourceError where a file named by a user is missing, no regular file, or cannot be read."""
    try:
        with open_regular(path) as file:
            file.read(1)
    except OSError as error:
        raise io_error(error, path) from None

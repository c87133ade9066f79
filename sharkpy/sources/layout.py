"""Files of a folder in the local file system: which are a table's data.

Generations are folders there (`sharkpy.sources.folders.generations`). Paths are absolute.
"""

from __future__ import annotations

import os
import stat
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
            return [file for entry in visible_of(names, counted) for file in _files(str(Path(path, entry.name)))]
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
            found += _files(str(Path(path, f"delta_{number:07d}")))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise io_error(error, path) from None
    return found


def visible_generations(path: str, newest: int | None = None) -> list[tuple[Generation, list[DataFile]]]:
    """What counts in a table's folder, with its files, in the order of its rows."""
    try:
        return [(entry, list(_files(str(Path(path, entry.name))))) for entry in visible_of(names_in(path), newest)]
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


def _files(path: str) -> Iterator[DataFile]:
    """Data files at or below `path`, by name."""
    if not Path(path).is_dir():
        yield _data_file(path, Path(path).stat())
        return
    with os.scandir(path) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        if is_hidden_name(entry.name):
            continue
        if entry.is_dir():
            yield from _files(entry.path)
        else:
            yield _data_file(entry.path, entry.stat())


def _data_file(path: str, status: os.stat_result) -> DataFile:
    """A regular file; SourceError for a pipe or a device, whose reader would wait for ever."""
    if not stat.S_ISREG(status.st_mode):
        raise SourceError(f'"{path}" is a device or a pipe, not a file')
    return DataFile(path, status.st_size, status.st_mtime_ns)


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

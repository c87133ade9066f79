"""Files for a path or a pattern that a query names, with the Hive partitions from the names of their folders."""

from __future__ import annotations

import datetime
import glob
import itertools
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.cancellation import check_cancelled, checked
from sharkpy.base.errors import BindError, SourceError
from sharkpy.base.records import dataclass
from sharkpy.catalog.hive_partition import HivePartition, partition_values
from sharkpy.catalog.model import Table
from sharkpy.catalog.path_gate import local_path
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.folders.remote_listing import parts_below
from sharkpy.sources.layout import DataFile, check_name, list_data_files
from sharkpy.sources.path_pattern import local_matches, local_parts
from sharkpy.sources.remote_files import (
    files_and_manifests,
    files_in_folders,
    is_file,
    matching_files,
    remote_files,
    visible_files,
)
from sharkpy.values.types import BIGINT, DATE, INT, STRING, DataType, Field, Schema

Check = Callable[[str], object]
"""Raises NotAllowedError for a path that may not be read."""
Access = Callable[[str], str]
"""Returns the id of the access to a remote location; NotAllowedError if the statement has none."""
FilesIn = Callable[[str], Sequence[DataFile]]
"""Lists the data files of a local folder."""
_MOST_LEVELS = 32
"""Most levels of Hive partitions: links may lead folders into themselves, and the system follows forty of them."""
_DIGITS = {INT: 9, BIGINT: 18}
_BRACES = re.compile(r"\{([^{},]*(?:,[^{},]*)+)\}")
_MOST_ALTERNATIVES = 1_000
_PLACE_SIGNS = 2
"""Slashes of a URI with only a scheme and a host or bucket."""
_WITHOUT_LISTS = ("http", "https")
"""Schemes of servers without listings: each file is named exactly."""


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """Data files, each with its Hive partition; equal as long as the files are the same.

    `root`: the file, or the folder that holds all files. `partitions`: names and folders of all Hive partitions below
    the folder that was named; () if a pattern was used.
    """

    root: str
    files: tuple[DataFile, ...]
    partitions: tuple[tuple[str, str], ...] = ()


def named_files(places: Sequence[str], check: Check, access: Access, files_in: FilesIn = list_data_files) -> NamedFiles:
    """Files at some locations: a file, a folder, or a pattern with `*`, `?`, `[…]`, `{a,b}` and `**` (any folders).

    `files_in` lists a local folder that is named without a pattern. SourceError 58P01 if a location has no files. All
    files have to be local, or all in the same store.
    """
    return _distinct([_named(place, check, access, files_in) for place in places])


def _distinct(found: Sequence[NamedFiles]) -> NamedFiles:
    """Distinct files of several locations."""
    if len(found) == 1:
        return found[0]
    are_remote = {uri.is_remote(one.root) for one in found}
    roots = [one.root.split("/") for one in found]
    shared = itertools.takewhile(lambda parts: len(set(parts)) == 1, zip(*roots, strict=False))
    root = "/".join(parts[0] for parts in shared)
    if len(are_remote) > 1 or (True in are_remote and root.count("/") < _PLACE_SIGNS):
        raise SourceError("files of one list are in different places", hint="read them by UNION ALL")
    return NamedFiles(root or "/", tuple(dict.fromkeys(file for one in found for file in one.files)))


def _named(place: str, check: Check, access: Access, files_in: FilesIn) -> NamedFiles:
    """Files at one location; each alternative in braces is a separate pattern."""
    if "{" in place and not (uri.scheme_of(place) in _WITHOUT_LISTS or _is_there(place, check, access)):
        alternatives = _without_braces(place)
        if len(alternatives) > 1:
            return _of_alternatives(alternatives, place, check, access, files_in)
    return _matched(place, check, access, files_in)


def _is_there(place: str, check: Check, access: Access) -> bool:
    if uri.is_remote(place):
        return is_file(place, access(place))
    check(local_parts(place)[0] if glob.has_magic(place) else place)
    return os.path.lexists(local_path(place))


def _of_alternatives(
    patterns: Sequence[str], place: str, check: Check, access: Access, files_in: FilesIn
) -> NamedFiles:
    """Files that match any of some patterns."""
    found = list[NamedFiles]()
    for pattern in patterns:
        try:
            found.append(_matched(pattern, check, access, files_in))
        except SourceError as error:
            if error.sqlstate != "58P01":
                raise
    if not found:
        raise SourceError(f'no file matches "{place}"', sqlstate="58P01")
    return _distinct(found)


def _without_braces(place: str) -> list[str]:
    """Patterns for the alternatives of `{a,b}` in a pattern."""
    found = _BRACES.search(place)
    if found is None:
        return [place]
    parts = [f"{place[: found.start()]}{one}{place[found.end() :]}" for one in found[1].split(",")]
    patterns = [pattern for part in parts for pattern in _without_braces(part)]
    if len(patterns) > _MOST_ALTERNATIVES:
        raise BindError(f'"{place}" stands for more than {_MOST_ALTERNATIVES} patterns', sqlstate="54000")
    return patterns


def _matched(place: str, check: Check, access: Access, files_in: FilesIn) -> NamedFiles:
    if uri.is_remote(place):
        return _named_remote(place, access(place))
    path = local_path(place)
    if glob.has_magic(place):
        folder, pattern = local_parts(place)
        check(folder)
        if not os.path.lexists(path):
            return _matching(local_path(folder), pattern, place, check, files_in)
    return files_at(place, check, access, files_in)


def files_at(place: str, check: Check, access: Access, files_in: FilesIn = list_data_files) -> NamedFiles:
    """Files at a literal path: one file, or the files of a folder. SourceError 58P01 if it does not exist."""
    if uri.is_remote(place):
        return _remote_at(place, access(place))
    check(place)
    path = local_path(place)
    try:
        return _at(path, files_in)
    except OSError as error:
        raise io_error(error, path) from None


def is_pattern(place: str) -> bool:
    """True for a remote location with pattern characters, if its server has listings."""
    return glob.has_magic(place) and uri.scheme_of(place) not in _WITHOUT_LISTS


def partition_columns(files: Iterable[DataFile]) -> Schema:
    """Columns of the Hive partitions of some files, with types for all their values. SourceError if the files have
    different partition columns.
    """
    found: dict[str, set[str]] = {}
    names: tuple[str, ...] | None = None
    for partition in dict.fromkeys(file.partition for file in files):
        values = partition_values(partition)
        if names is None:
            names = tuple(values)
            found = {name: set() for name in names}
        if tuple(values) != names:
            message = f'"{partition}" has other partition columns than the files before it'
            raise SourceError(message, hint="name the folder that holds one kind of files")
        for name, value in values.items():
            if value is not None:
                found[name].add(value)
    return Schema(tuple(Field(name, _common_type(values)) for name, values in found.items()))


def _at(path: str, files_in: FilesIn) -> NamedFiles:
    status = Path(path).stat()
    if stat.S_ISREG(status.st_mode):
        return NamedFiles(path, (DataFile(path, status.st_size, status.st_mtime_ns),))
    if not stat.S_ISDIR(status.st_mode):
        raise SourceError(f'"{path}" is a device or a pipe, not a file')
    partitions = tuple(_partitions(path, ()))
    if not partitions:
        return NamedFiles(path, tuple(files_in(path)))
    files = (file.in_partition(name) for name, folder in partitions for file in files_in(folder))
    return NamedFiles(path, tuple(files), partitions)


def _partitions(folder: str, above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Names and folders of the Hive partitions below a folder, in order of their names."""
    check_cancelled()
    if len(above) > _MOST_LEVELS:
        raise _too_deep(folder)
    with os.scandir(folder) as scan:
        entries = sorted((entry for entry in scan if not _is_hidden(entry.name)), key=lambda entry: entry.name)
    named = [entry for entry in entries if _is_partition(entry.name) and entry.is_dir()]
    if not named:
        if above:
            yield "/".join(above), folder
        return
    if len(named) < len(entries):
        raise _mixed_with_partitions(folder, next(entry.name for entry in entries if entry not in named))
    for entry in named:
        check_name(entry.path)
        yield from _partitions(entry.path, (*above, entry.name))


def _named_remote(place: str, access_id: str) -> NamedFiles:
    if not is_pattern(place) or is_file(place, access_id):
        return _remote_at(place, access_id)
    root, files = matching_files(place, access_id)
    return NamedFiles(root, tuple(file.in_partition(_remote_partition(file, root)) for file in files))


def _remote_at(place: str, access_id: str) -> NamedFiles:
    place = place.rstrip("/")
    files, manifests = files_and_manifests(place, access_id)
    found = list(_remote_partitions(place, (), [*files, *manifests]))
    partitions = tuple((name, folder) for name, folder, _ in found)
    if not found:
        plain = files and not manifests
        return NamedFiles(place, tuple(visible_files(files, place) if plain else remote_files(place, access_id)))
    if manifests:
        counted = files_in_folders(dict.fromkeys(folder for _, folder in partitions), access_id)
    else:
        counted = {folder: visible_files(group, folder) for _, folder, group in found}
    named = (file.in_partition(name) for name, folder in partitions for file in counted[folder])
    return NamedFiles(place, tuple(named), partitions)


def _remote_partitions(
    folder: str, above: tuple[str, ...], files: Sequence[DataFile]
) -> Iterator[tuple[str, str, Sequence[DataFile]]]:
    """Names and folders of the Hive partitions below a folder, in order of their names, with the files of each."""
    if len(above) > _MOST_LEVELS:
        raise _too_deep(folder)
    groups: dict[str, list[DataFile]] = {}
    for file in files:
        name, *below = parts_below(file, folder)
        groups.setdefault(f"{name}/" if below else name, []).append(file)
    named = sorted(name for name in groups if name.endswith("/") and _is_partition(name))
    if not named:
        if above:
            yield "/".join(above), folder, files
        return
    if len(named) < len(groups):
        raise _mixed_with_partitions(folder, next(name.rstrip("/") for name in groups if name not in named))
    for name in named:
        yield from _remote_partitions(f"{folder}/{name[:-1]}", (*above, name[:-1]), groups[name])


def _remote_partition(file: DataFile, root: str) -> str:
    return "/".join(filter(_is_partition, parts_below(file, root)[:-1]))


def _too_deep(folder: str) -> SourceError:
    return SourceError(f'"{folder}" is below more than {_MOST_LEVELS} partition columns')


def _mixed_with_partitions(folder: str, other: str) -> SourceError:
    message = f'"{folder}" has "{other}" beside the folders of Hive partitions'
    return SourceError(message, hint="name one of the two")


def _matching(root: str, pattern: str, place: str, check: Check, files_in: FilesIn) -> NamedFiles:
    seen, files = set[str](), list[DataFile]()
    for match in sorted(checked(local_matches(root, pattern))):
        try:
            _check_match(match, seen, check)
            files += _at(match, files_in).files
        except OSError as error:
            raise io_error(error, match) from None
    if not files:
        raise SourceError(f'no file matches "{place}"', sqlstate="58P01")
    return NamedFiles(root, tuple(file.in_partition(_partition_of(file.path, root)) for file in files))


def _check_match(path: str, seen: set[str], check: Check) -> None:
    """Check a path below a folder. Only links have to be checked themselves; for other names the folder is checked."""
    check_name(path)
    parent = str(Path(path).parent)
    if Path(path).is_symlink():
        check(path)
    if parent not in seen:
        check(parent)
        seen.add(parent)


def _partition_of(path: str, root: str) -> str:
    return "/".join(filter(_is_partition, Path(path).parent.relative_to(root).parts))


def _is_partition(name: str) -> bool:
    return not name.startswith("=") and "=" in name


def _is_hidden(name: str) -> bool:
    return name.startswith(("_", "."))


def _common_type(values: Iterable[str]) -> DataType:
    values = list(values)
    for dtype, most in _DIGITS.items():
        if values and all(_is_whole(value, most) for value in values):
            return dtype
    return DATE if values and all(map(_is_date, values)) else STRING


def _is_whole(text: str, most_digits: int) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) <= most_digits


def _is_date(text: str) -> bool:
    if len(text) != len("2026-01-01") or not text[4] == text[7] == "-":
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTable(Table):
    """Table of the rows of `named` files, which have not changed since."""

    named: NamedFiles = field(compare=False, repr=False)

    @property
    def qualified_name(self) -> str:
        return f"{self.database}.`{self.name}`"

    @property
    def partitions(self) -> tuple[HivePartition, ...]:
        """Hive partitions of a partitioned table, by name."""
        return tuple(
            HivePartition(number, name, folder) for number, (name, folder) in enumerate(self.named.partitions, 1)
        )

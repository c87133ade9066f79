"""Data files in stores: of tables' remote folders, of Hive partitions, of paths, and of patterns.

A request lists a page of objects, whether it has one or a thousand. So Hive partitions with few objects each are best
listed by the folder that holds them all. A store that lists by name is listed in parallel ranges of names, which skip
objects between the wanted folders. Other stores are listed by one list, given up once lists of each folder would be
faster.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sharkpy.base import uri
from sharkpy.base.cancellation import checked
from sharkpy.base.errors import BindError, SourceError
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table
from sharkpy.catalog.table_folders import holds_files
from sharkpy.sources.folders.generations import Generation, is_hidden_name, visible_of
from sharkpy.sources.folders.remote_folder import RemoteFolder
from sharkpy.sources.folders.remote_listing import (
    RemoteListing,
    data_file,
    is_gone,
    is_listed,
    parts_below,
    visible_in,
    written_folder,
)
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import store_for_access
from sharkpy.sources.parallel_requests import AT_ONCE, parallel_map
from sharkpy.sources.path_pattern import SIGNS, PathPattern
from sharkpy.sources.storage.meter import LISTED, counted
from sharkpy.sources.storage.store import ObjectFacts, Store


def remote_files(location: str, access_id: str, newest: int | None = None) -> list[DataFile]:
    """Data files of a table's folder up to generation `newest`, oldest generation first, then by path; or the one file
    at the location.

    SourceError 58P01 if nothing is there.
    """
    return RemoteFolder(location, store_for_access(location, access_id), access_id).files(lambda: newest)


def visible_files(files: Sequence[DataFile], folder: str, newest: int | None = None) -> list[DataFile]:
    """Visible ones among the files below a folder."""
    by_name: dict[str, list[DataFile]] = {}
    for file in files:
        by_name.setdefault(parts_below(file, folder)[0], []).append(file)
    return [file for one in visible_of(list(by_name), newest) for file in by_name[one.name]]


def files_below(location: str, access_id: str) -> list[DataFile]:
    """Data files below a location, by path; none if its server has no listings."""
    return files_and_manifests(location, access_id)[0]


def files_and_manifests(location: str, access_id: str) -> tuple[list[DataFile], list[DataFile]]:
    """Data files below a location, by path; and manifests, each as a file in the folder whose rows it lists."""
    store = store_for_access(location, access_id)
    files, manifests = list[DataFile](), list[DataFile]()
    for facts in _objects(store, location) if store.traits.lists else ():
        if (file := data_file(facts, location, access_id)) is not None:
            files.append(file)
        elif (written := written_folder(facts)) is not None:
            shown = replace(facts, path=uri.join(written, uri.name_of(facts.path)))
            if (file := data_file(shown, location, access_id)) is not None:
                manifests.append(file)
    return sorted(files, key=lambda file: parts_below(file, location)), manifests


def _objects(store: Store, location: str) -> Iterator[ObjectFacts]:
    """Objects below a location. Remote ones count for the statement's limit."""
    return checked(store.list(location)) if store.traits.is_local else counted(store.list(location))


def is_file(location: str, access_id: str) -> bool:
    """True if there is an object with exactly this name."""
    return store_for_access(location, access_id).stat(location) is not None


def has_files(location: str, access_id: str) -> bool:
    """True if anything is below a location, or an object is at it. Without listings, only the object is requested.

    Staged files in a local folder do not count.
    """
    store = store_for_access(location, access_id)
    if store.traits.is_local:
        return holds_files(location)
    if not store.traits.lists:
        return store.stat(location) is not None
    objects, folders = store.children(location)
    return bool(objects or folders) or store.stat(location) is not None


def subfolders(folder: str, access_id: str) -> list[str]:
    """Visible subfolders of a folder, by name. All names in a remote folder count for the statement's limit."""
    objects, found = store_for_access(folder, access_id).children(folder.rstrip("/"))
    if access_id:
        LISTED.count(len(objects) + len(found))
    return sorted(one for one in found if not is_hidden_name(uri.name_of(one)))


def matching_files(pattern: str, access_id: str) -> tuple[str, list[DataFile]]:
    """Folder above the first name with a pattern, and the matching files. `*`, `?` and `[…]` match parts of names, `**`
    any folders. A matching folder means all its files.
    """
    folder, names = pattern_parts(pattern)
    wanted = PathPattern.of(names)
    found = [file for file in files_below(folder, access_id) if wanted.matches(parts_below(file, folder))]
    if not found:
        raise SourceError(f'no file matches "{uri.redacted(pattern)}"', sqlstate="58P01")
    return folder, found if wanted.is_deep else _matched(found, folder, len(wanted.parts))


def _matched(files: Sequence[DataFile], folder: str, depth: int) -> list[DataFile]:
    """Files of matches of `depth` names below a folder; of a matching folder, the visible files."""
    found = list[DataFile]()
    for match, group in itertools.groupby(files, key=lambda file: parts_below(file, folder)[:depth]):
        members, place = list(group), "/".join((folder, *match))
        found += members if members[0].path == place else visible_files(members, place)
    return found


def pattern_parts(pattern: str) -> tuple[str, str]:
    """Folder above the first name with a pattern in a URI, and the rest."""
    first = min(pattern.index(sign) for sign in SIGNS if sign in pattern)
    place = pattern.rfind("/", 0, first)
    folder, names = pattern[:place], pattern[place + 1 :]
    if folder.endswith(("/", ":")):
        raise BindError(f'"{uri.redacted(pattern)}" has a pattern for its bucket', sqlstate="42602")
    return folder, names


def remote_partition_files(
    table: Table, partitions: Iterable[HivePartition], access: Callable[[str], str]
) -> Mapping[str, list[DataFile]]:
    """Data files of a table's Hive partitions in remote folders, by the partitions' names. A missing folder has none.

    Folders below the table's own are listed together. Other locations, which may be files, are listed each by itself.
    """
    home = table.location or ""
    is_far = uri.is_remote(home)
    remote = [(one, one.folder(table)) for one in partitions if is_far or one.location is not None]
    remote = [(one, folder) for one, folder in remote if uri.is_remote(folder)]
    found = dict[str, list[DataFile]]()
    below = [(one, folder) for one, folder in remote if folder == uri.join(home, one.name)]
    if below and store_for_access(home, access_id := access(home)).traits.lists:
        newest = {folder: one.newest for one, folder in below}
        files = files_in_folders(newest, access_id)
        found = {one.name: files[folder] for one, folder in below}
    apart = [(one, folder) for one, folder in remote if one.name not in found]
    asked = parallel_map(lambda pair: _files_at(pair[1], access(pair[1]), pair[0].newest), apart)
    return found | {one.name: files for (one, _), files in zip(apart, asked, strict=True)}


def files_in_folders(newest: Mapping[str, int | None], access_id: str) -> dict[str, list[DataFile]]:
    """Visible data files in each of some folders of one store, up to the generation given for each."""
    visible = visible_in_folders(newest, access_id)
    return {folder: [file for _, files in found for file in files] for folder, found in visible.items()}


def visible_in_folders(
    newest: Mapping[str, int | None], access_id: str
) -> dict[str, list[tuple[Generation, list[DataFile]]]]:
    """`files_in_folders`, with the generations of the files."""
    folders = list(newest)
    store = store_for_access(folders[0], access_id)
    objects = objects_in_folders(store, folders, lambda facts, folder: facts if is_listed(facts, folder) else None)
    # Objects are released as soon as possible: thousands of folders have many of them.
    listings = [RemoteListing.of(objects.pop(folder, ()), folder, access_id) for folder in folders]
    try:
        visible = visible_in(list(zip(listings, newest.values(), strict=True)), store, access_id)
    except SourceError as error:
        if not is_gone(error):
            raise
        # Some were removed after the listing: list each folder again by itself.
        homes = [RemoteFolder(folder, store, access_id) for folder in folders]
        visible = parallel_map(lambda home: home.visible(newest[home.path]), homes)
    return dict(zip(folders, visible, strict=True))


def _files_at(folder: str, access_id: str, newest: int | None) -> list[DataFile]:
    try:
        return remote_files(folder, access_id, newest)
    except SourceError as error:
        if error.sqlstate != "58P01" or "there is no bucket" in error.message:
            raise
        return []


T = TypeVar("T")
Keep = Callable[[ObjectFacts, str], T | None]
"""Converts an object below a folder; None to leave it out."""
_LISTS = 64
"""Most folders that are listed one by one; number of ranges for more."""
_PAGE = 1000
"""Objects in one page of a list."""
_LAST = "\U0010ffff"
"""Sorts after all other names."""


def objects_in_folders(store: Store, folders: Sequence[str], keep: Keep[T]) -> dict[str, list[T]]:
    """Results of `keep` for the objects below each of some folders, at any depth and in any order.

    No folder may be in another one. Folders without results may be left out.
    """
    ordered = sorted(folders, key=lambda folder: f"{folder}/")
    if len(ordered) > _LISTS:
        if store.traits.is_sorted:
            return _joined(parallel_map(lambda run: _kept(_between(store, run), keep), _runs(ordered)))
        if (found := _listed_together(store, ordered, keep)) is not None:
            return found
    return _joined(parallel_map(lambda folder: _kept(_in_one(store, folder), keep), ordered))


def _in_one(store: Store, folder: str) -> Iterator[tuple[str, ObjectFacts]]:
    return ((folder, facts) for facts in store.list(folder))


def _between(store: Store, folders: Sequence[str]) -> Iterator[tuple[str, ObjectFacts]]:
    """Objects below folders in the order of names, in a store that lists by name."""
    home, ends = _folder_of_all(folders), [f"{folder}/{_LAST}" for folder in folders]
    place = strays = 0
    while place < len(folders):
        for facts in store.list(home, after=f"{folders[place]}/", until=ends[-1]):
            while facts.path > ends[place]:
                place += 1
            if facts.path.startswith(f"{folders[place]}/"):
                strays = 0
                yield folders[place], facts
            elif (strays := strays + 1) == _PAGE:
                # Many unwanted objects may follow: begin the next list after them.
                strays = 0
                break
        else:
            return


def _listed_together(store: Store, folders: Sequence[str], keep: Keep[T]) -> dict[str, list[T]] | None:
    """Results from one list of the folder that holds all folders.

    None once that list has more pages than lists of each folder would take, with as many lists at a time as allowed.
    """
    depth = folders[0].count("/") + 1
    if any(folder.count("/") + 1 != depth for folder in folders):
        return None
    found = {folder: list[T]() for folder in folders}
    most = len(folders) * _PAGE // AT_ONCE
    for number, facts in enumerate(counted(store.list(_folder_of_all(folders)))):
        if number == most:
            return None
        folder = "/".join(facts.path.split("/", depth)[:depth])
        if folder in found and (kept := keep(facts, folder)) is not None:
            found[folder].append(kept)
    return found


def _folder_of_all(folders: Sequence[str]) -> str:
    """Folder that holds all of several folders."""
    first, last = min(folders), max(folders)
    if first == last:
        return first
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    start = "".join(one for one, _ in same)
    return start[: start.rindex("/")]


def _runs(folders: Sequence[str]) -> list[Sequence[str]]:
    """Runs of neighbouring folders, as many as there will be lists, of nearly equal length."""
    bounds = [len(folders) * number // _LISTS for number in range(_LISTS + 1)]
    return [folders[start:end] for start, end in itertools.pairwise(bounds)]


def _kept(objects: Iterable[tuple[str, ObjectFacts]], keep: Keep[T]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = {}
    for folder, facts in counted(objects):
        if (kept := keep(facts, folder)) is not None:
            found.setdefault(folder, []).append(kept)
    return found


def _joined(parts: Iterable[dict[str, list[T]]]) -> dict[str, list[T]]:
    return {folder: kept for part in parts for folder, kept in part.items()}

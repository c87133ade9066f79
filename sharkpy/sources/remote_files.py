"""Data files below remote locations: of tables' folders, of paths, and of patterns."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from sharkpy.base import uri
from sharkpy.base.errors import BindError, SourceError
from sharkpy.sources.folders.generations import is_hidden_name, visible_of
from sharkpy.sources.folders.remote_folder import RemoteFolder
from sharkpy.sources.folders.remote_listing import data_file, parts_below, written_folder
from sharkpy.sources.layout import DataFile
from sharkpy.sources.local_copy import store_with
from sharkpy.sources.path_pattern import SIGNS, PathPattern
from sharkpy.sources.storage.listed import LISTED, counted


def remote_files(location: str, access_id: str, newest: int | None = None) -> list[DataFile]:
    """Data files of a table's folder up to generation `newest`, oldest generation first, then by path; or the one file
    at the location.

    SourceError 58P01 if nothing is there.
    """
    return RemoteFolder(location, store_with(location, access_id), access_id).files(lambda: newest)


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
    store = store_with(location, access_id)
    files, manifests = list[DataFile](), list[DataFile]()
    for facts in counted(store.list(location)) if store.traits.lists else ():
        if (file := data_file(facts, location, access_id)) is not None:
            files.append(file)
        elif (written := written_folder(facts)) is not None:
            shown = replace(facts, path=uri.join(written, uri.name_of(facts.path)))
            if (file := data_file(shown, location, access_id)) is not None:
                manifests.append(file)
    return sorted(files, key=lambda file: parts_below(file, location)), manifests


def is_file(location: str, access_id: str) -> bool:
    """True if there is an object with exactly this name."""
    return store_with(location, access_id).stat(location) is not None


def has_files(location: str, access_id: str) -> bool:
    """True if anything is below a location, or an object is at it. Without listings, only the object is requested."""
    store = store_with(location, access_id)
    if not store.traits.lists:
        return store.stat(location) is not None
    objects, folders = store.children(location)
    return bool(objects or folders) or store.stat(location) is not None


def subfolders(folder: str, access_id: str) -> list[str]:
    """Visible subfolders of a folder, by name."""
    objects, found = store_with(folder, access_id).children(folder.rstrip("/"))
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

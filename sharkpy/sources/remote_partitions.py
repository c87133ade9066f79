"""Data files of a table's Hive partitions in remote folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sharkpy.base import uri
from sharkpy.base.errors import SourceError
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table
from sharkpy.sources.folders.generations import Generation
from sharkpy.sources.folders.remote_folder import RemoteFolder
from sharkpy.sources.folders.remote_listing import RemoteListing, is_gone, is_listed, visible_in
from sharkpy.sources.layout import DataFile
from sharkpy.sources.local_copy import store_with
from sharkpy.sources.remote_files import remote_files
from sharkpy.sources.side_by_side import side_by_side
from sharkpy.sources.storage.folder_lists import objects_in_folders


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
    if below and store_with(home, access_id := access(home)).traits.lists:
        newest = {folder: one.newest for one, folder in below}
        files = files_in_folders(newest, access_id)
        found = {one.name: files[folder] for one, folder in below}
    apart = [(one, folder) for one, folder in remote if one.name not in found]
    asked = side_by_side(lambda pair: _files_at(pair[1], access(pair[1]), pair[0].newest), apart)
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
    store = store_with(folders[0], access_id)
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
        visible = side_by_side(lambda home: home.visible(newest[home.location]), homes)
    return dict(zip(folders, visible, strict=True))


def _files_at(folder: str, access_id: str, newest: int | None) -> list[DataFile]:
    try:
        return remote_files(folder, access_id, newest)
    except SourceError as error:
        if error.sqlstate != "58P01" or "there is no bucket" in error.message:
            raise
        return []

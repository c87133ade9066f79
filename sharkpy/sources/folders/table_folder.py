"""Folder of a table by its location: the only module that knows which kinds of folders there are.

The remote folder of a dropped table or Hive partition is removed with everything in it (`remove_dropped`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from operator import methodcaller
from typing import TYPE_CHECKING, Protocol

from sharkpy.base import uri
from sharkpy.base.cancellation import checked
from sharkpy.base.errors import InternalError
from sharkpy.catalog.folder_readers import WANTED
from sharkpy.catalog.path_gate import local_path
from sharkpy.catalog.trash import Leavings
from sharkpy.sources.folders.generations import Generation, Placed
from sharkpy.sources.folders.local_folder import LocalFolder
from sharkpy.sources.folders.logged_folder import LoggedFiles, LoggedFolder, LoggedObjects
from sharkpy.sources.folders.manifests import FILES, home_of_staging, write_of
from sharkpy.sources.folders.remote_folder import RemoteFolder
from sharkpy.sources.folders.remote_removal import Removal
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import store_for_access
from sharkpy.sources.storage.store import Store

if TYPE_CHECKING:
    from sharkpy.base.settings import Conf
    from sharkpy.catalog.readable_catalog import ReadableCatalog

_THREADS = 8
Access = Callable[[str], str]
"""Id of the access to a remote location."""


class TableFolder(Protocol):
    """Folder of a table or of one of its Hive partitions. A log names its files (`LoggedFolder`), or they are listed.

    1. Readers ask for `files`; `newest` is the last commit or generation that counts, None if all do.
    2. A write takes the name of a `new_staging`, notes it, makes it, fills it, and syncs it. Readers do not see it.
    3. It raises the errors of `io_error`: 58P01 if something is missing, 53100 if the disk is full, 58030 otherwise.
    """

    def exists(self) -> bool: ...

    def files(self, newest: Callable[[], int | None] | None = None) -> list[DataFile]:
        """Data files that count, oldest generation first, then by path. The location may also be one file.

        `newest` is called before and after the folder is listed. SourceError 58P01 if nothing is there.
        """

    def partition_files(self, newest: int | None, partition: str) -> list[DataFile]:
        """Data files of the Hive partition with this name; none if it has no folder."""

    def visible(self, newest: int | None = None) -> list[tuple[Generation, list[DataFile]]]:
        """Visible generations with their files, in the order of their rows."""

    def newest(self) -> int:
        """Number of the last generation that is there; 0 for none."""

    def new_staging(self, name: str = "") -> str:
        """Location of a new staging folder, to be noted before it is made. If it keeps its place, `name` begins its
        name.
        """

    def make_staging(self, staging: str, *, in_new_folder: bool = True) -> str:
        """Make a staging folder, and the table's own folder if `in_new_folder`. Otherwise SourceError 58P01 if that is
        missing.
        """

    def staged_subfolder(self, staging: str, name: str) -> str:
        """Subfolder of a staging folder; its name may have several parts. A staging folder that is gone is not made
        again.
        """

    def staged_files(self, staging: str) -> list[DataFile]: ...

    def sync_staged(self, staging: str) -> None:
        """Make the staged files durable, before they are put in place."""

    def discard_staging(self, staging: str) -> None:
        """Remove the files that a write has left; do nothing if they are gone."""

    def remove_beyond(self, newest: int) -> None:
        """Remove the generations after `newest`, which were never counted."""

    def remove_abandoned(self) -> None:
        """Remove files that dead processes of this machine have staged."""

    def remove_empty(self) -> None:
        """Remove the empty folders in this folder and below, and this folder if it is empty."""

    def remove_if_empty(self) -> bool:
        """Remove only this folder; False if it is not empty, or cannot be removed."""


def table_folder(location: str, catalog: ReadableCatalog | None = None, access: Access | None = None) -> TableFolder:
    """Folder at a location.

    `catalog` knows which folders are logged, and the access to remote locations; `access` finds the id of another
    access. Without both, UnsupportedError for remote locations.
    """
    access = access or (None if catalog is None else catalog.access_id)
    if access is None or not uri.is_remote(location):
        path = local_path(location)
        folder_id = None if catalog is None else catalog.log.find(path)
        return LocalFolder(path) if catalog is None or folder_id is None else LoggedFiles(path, catalog.log, folder_id)
    access_id = access(location)
    store, folder_id = store_for_access(location, access_id), None if catalog is None else catalog.log.find(location)
    if catalog is None or folder_id is None:
        return RemoteFolder(location, store, access_id)
    return LoggedObjects(location, catalog.log, folder_id, store, access_id)


def home_of(staging: str) -> str:
    """Location of the folder that a staging folder is in."""
    if uri.is_remote(staging):
        return home_of_staging(staging)
    above = uri.parent(staging)
    return uri.parent(above) if uri.name_of(above) == FILES else above


def access_of_owner(conf: Conf) -> Access:
    """Function that finds accesses with the settings of the engine's owner, which stay registered as long as it."""
    from sharkpy.sources.storage.access import OwnerAccesses

    return OwnerAccesses(conf).id_of


def logged_folder(location: str, catalog: ReadableCatalog, access: Access | None = None) -> LoggedFolder:
    """Folder at a location, of which the caller knows that a log names its files. `access`: see `table_folder`."""
    folder = table_folder(location, catalog, access)
    if not isinstance(folder, LoggedFolder):
        raise InternalError(f'no log names the files in "{uri.redacted(location)}"')
    return folder


def files_of_write(placed: Placed, catalog: ReadableCatalog) -> list[DataFile]:
    """Files that a write has placed, if they are still there, in a logged folder or for a temporary table."""
    if placed.paths:
        return logged_folder(placed.location, catalog).files_of(placed)
    return LocalFolder(placed.location).files_of(placed) if placed.place else []


def sync_all(locations: Iterable[str], catalog: ReadableCatalog) -> None:
    """Make durable what was put into some logged folders, several folders at a time."""
    folders = [logged_folder(location, catalog) for location in dict.fromkeys(locations)]
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(methodcaller("sync"), folders))


_BATCH = 4000
"""Most file names in memory at once."""


def removal_of_data(location: str, access_id: str, kept: Collection[str] = frozenset()) -> Callable[[], frozenset[str]]:
    """Prepare the removal of the rows in a folder; the function that is returned removes them.

    It removes the files of the writes that have put files there so far, but no files of later writes, and none of
    `kept`. It also removes files outside of the folder that the folder's current generations name, as a Hive partition
    may have them. It returns which of the files outside are gone.
    """
    store, home = store_for_access(location, access_id), uri.join(location, FILES)
    writes = frozenset(map(uri.name_of, store.children(home)[1]))
    removal = Removal(location, store, access_id)
    return partial(_remove_data, removal, home, writes, _named_elsewhere(removal), kept)


def _named_elsewhere(removal: Removal) -> frozenset[str]:
    folder = RemoteFolder(removal.location, removal.store, removal.access_id)
    return frozenset(path for path in folder.named() if uri.below(path, removal.location) is None)


def _remove_data(
    removal: Removal, home: str, writes: frozenset[str], elsewhere: frozenset[str], kept: Collection[str]
) -> frozenset[str]:
    gone = elsewhere - WANTED.among(elsewhere)
    removal.remove_files(sorted(gone))
    if writes:
        _remove_written(removal.store, home, writes, kept)
    return gone


def _remove_written(store: Store, home: str, writes: frozenset[str], kept: Collection[str]) -> None:
    found = (facts.path for facts in checked(store.list(home)) if write_of(facts.path) in writes)
    while paths := list(islice(found, _BATCH)):
        wanted = WANTED.among(paths).union(kept)
        store.delete(path for path in paths if path not in wanted)


def remove_dropped(location: str, access_id: str, leavings: Leavings) -> None:
    """Remove a folder with everything below it, and the files of its generations wherever they are."""
    store = store_for_access(location, access_id)
    removal = Removal(location, store, access_id)
    apart = _named_elsewhere(removal).difference(leavings.removed).union(leavings.elsewhere)
    found = [facts.path for facts in checked(store.list(location)) if facts.path not in leavings.kept]
    wanted = WANTED.among([*apart, *found])
    removal.remove_files(sorted(apart - wanted))
    store.delete(path for path in found if path not in wanted)
    # A stream that has released a file since then may still have seen the manifest, and left the file.
    removal.remove_files(sorted(wanted - WANTED.among(wanted)))
    removal.remove_empty()

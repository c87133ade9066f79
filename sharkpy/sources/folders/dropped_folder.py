"""Removal of the remote folder of a dropped table or Hive partition, with everything in it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from itertools import islice

from sharkpy.base import uri
from sharkpy.base.cancellation import checked
from sharkpy.catalog.folder_readers import WANTED
from sharkpy.sources.folders.manifest import FILES, write_of
from sharkpy.sources.folders.remote_folder import RemoteFolder
from sharkpy.sources.folders.remote_removal import Removal
from sharkpy.sources.local_copy import store_with
from sharkpy.sources.storage.store import Store

_BATCH = 4000
"""Most file names in memory at once."""


def removal_of_data(location: str, access_id: str) -> Callable[[], frozenset[str]]:
    """Prepare the removal of the rows in a folder; the function that is returned removes them.

    It removes the files of the writes that have put files there so far, but no files of later writes. It also removes
    files outside of the folder that the folder's current generations name, as a Hive partition may have them. It
    returns which of the files outside are gone.
    """
    store, home = store_with(location, access_id), uri.join(location, FILES)
    writes = frozenset(map(uri.name_of, store.children(home)[1]))
    removal = Removal(location, store, access_id)
    return partial(_remove_data, removal, home, writes, _named_elsewhere(removal))


def _named_elsewhere(removal: Removal) -> frozenset[str]:
    folder = RemoteFolder(removal.location, removal.store, removal.access_id)
    return frozenset(path for path in folder.named() if uri.below(path, removal.location) is None)


def _remove_data(removal: Removal, home: str, writes: frozenset[str], elsewhere: frozenset[str]) -> frozenset[str]:
    gone = elsewhere - WANTED.among(elsewhere)
    removal.remove_files(sorted(gone))
    if writes:
        _remove_written(removal.store, home, writes)
    return gone


def _remove_written(store: Store, home: str, writes: frozenset[str]) -> None:
    found = (facts.path for facts in checked(store.list(home)) if write_of(facts.path) in writes)
    while paths := list(islice(found, _BATCH)):
        wanted = WANTED.among(paths)
        store.delete(path for path in paths if path not in wanted)


def remove_dropped(location: str, access_id: str, removed: Collection[str] = ()) -> None:
    """Remove a folder with everything below it, and the files of its generations wherever they are.

    `removed`: files outside of the folder that are already gone.
    """
    store = store_with(location, access_id)
    removal = Removal(location, store, access_id)
    apart = _named_elsewhere(removal).difference(removed)
    found = [facts.path for facts in checked(store.list(location))]
    wanted = WANTED.among([*apart, *found])
    removal.remove_files(sorted(apart - wanted))
    store.delete(path for path in found if path not in wanted)
    # A stream that has released a file since then may still have seen the manifest, and left the file.
    removal.remove_files(sorted(wanted - WANTED.among(wanted)))
    removal.remove_empty()

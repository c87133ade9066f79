"""Remote folder of a table or Hive partition that was dropped: all that it holds is removed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from itertools import islice

from sharkpy.base import uri
from sharkpy.base.cancellation import checked
from sharkpy.catalog.wanted_files import WANTED
from sharkpy.sources.folders.manifest import FILES, write_of
from sharkpy.sources.folders.remote_folder import RemoteFolder
from sharkpy.sources.folders.remote_removal import Removal
from sharkpy.sources.local_copy import store_with
from sharkpy.sources.storage.store import Store

_BATCH = 4000
"""Files whose names are in memory at once."""


def removal_of_data(location: str, access_id: str) -> Callable[[], frozenset[str]]:
    """What removes the files of the writes that have put some into a folder by now, and no files of later ones, and
    those elsewhere that its generations of now name, as a Hive partition's do: it returns which of these are gone.
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
    """Remove a folder with all its rows, wherever the files of its generations are, and with all that is below it.
    `removed`: files elsewhere that are gone already.
    """
    store = store_with(location, access_id)
    removal = Removal(location, store, access_id)
    apart = _named_elsewhere(removal).difference(removed)
    found = [facts.path for facts in checked(store.list(location))]
    wanted = WANTED.among([*apart, *found])
    removal.remove_files(sorted(apart - wanted))
    store.delete(path for path in found if path not in wanted)
    # Who has let go of some meanwhile may have seen the manifests still.
    removal.remove_files(sorted(wanted - WANTED.among(wanted)))
    removal.remove_empty()

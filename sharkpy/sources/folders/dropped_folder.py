"""Remote folder of a table or Hive partition that was dropped: all that it holds is removed."""

from __future__ import annotations

from collections.abc import Callable
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


def removal_of_data(location: str, access_id: str) -> Callable[[], None]:
    """What removes the files of the writes that have put some into a folder by now, and no files of later ones."""
    store, home = store_with(location, access_id), uri.join(location, FILES)
    return partial(_remove_data, store, home, frozenset(map(uri.name_of, store.children(home)[1])))


def _remove_data(store: Store, home: str, writes: frozenset[str]) -> None:
    if not writes:
        return
    found = (facts.path for facts in checked(store.list(home)) if write_of(facts.path) in writes)
    while paths := list(islice(found, _BATCH)):
        wanted = WANTED.among(paths)
        store.delete(path for path in paths if path not in wanted)


def remove_dropped(location: str, access_id: str) -> None:
    """Remove a folder with all its rows, wherever the files of its generations are, and with all that is below it."""
    store = store_with(location, access_id)
    removal = Removal(location, store, access_id)
    apart = {path for path in RemoteFolder(location, store, access_id).named() if uri.below(path, location) is None}
    found = [facts.path for facts in checked(store.list(location))]
    wanted = WANTED.among([*apart, *found])
    removal.remove_files(sorted(apart - wanted))
    store.delete(path for path in found if path not in wanted)
    # Who has let go of some meanwhile may have seen the manifests still.
    removal.remove_files(sorted(wanted - WANTED.among(wanted)))
    removal.remove_empty()

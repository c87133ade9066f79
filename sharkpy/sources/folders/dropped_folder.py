"""Remote folder of a table or Hive partition that was dropped: all that it holds is removed."""

from __future__ import annotations

from sharkpy.base.cancellation import checked
from sharkpy.catalog.wanted_files import WANTED
from sharkpy.sources.folders.remote_folder import RemoteFolder
from sharkpy.sources.local_copy import store_with

_NOTHING_COUNTS = -1


def remove_dropped(location: str, access_id: str) -> None:
    """Remove a folder with all its rows, wherever the files of its generations are, and with all that is below it."""
    store = store_with(location, access_id)
    folder = RemoteFolder(location, store, access_id)
    folder.remove_beyond(_NOTHING_COUNTS)
    found = [facts.path for facts in checked(store.list(location))]
    wanted = WANTED.among(found)
    store.delete(path for path in found if path not in wanted)
    folder.remove_empty()

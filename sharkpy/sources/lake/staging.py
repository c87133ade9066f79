"""Files that a write puts into a remote lake table. They keep their names, and count once a snapshot has them.

Each write has its own folder, `sharkpy-<id>`, among the table's data. Its name is not hidden, so that other engines can
find and remove files in it that are no longer in any snapshot.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from uuid import uuid4

from sharkpy.base import uri
from sharkpy.base.cancellation import checked
from sharkpy.base.errors import UnsupportedError
from sharkpy.sources.local_copy import store_with

_NAME = re.compile(r"sharkpy-[0-9a-f]{32}")


def new_lake_staging(folder: str) -> str:
    """Location for the files of a new write, in the folder of a table's data."""
    return uri.join(folder, f"sharkpy-{uuid4().hex}")


def is_lake_staging(location: str) -> bool:
    return uri.is_remote(location) and _NAME.fullmatch(uri.name_of(location)) is not None


def check_writable_place(location: str, access_id: str) -> None:
    """Raise UnsupportedError for a location in read-only storage."""
    traits = store_with(location, access_id).traits
    if not (traits.writes and traits.lists):
        raise UnsupportedError(f'"{uri.redacted(location)}" cannot be written: its server is read-only')


def remove_staged(staging: str, access_id: str, kept: Collection[str] = ()) -> None:
    """Remove the files that tasks have put there, except the files in `kept`."""
    store = store_with(staging, access_id)
    gone = [facts.path for facts in checked(store.list(staging)) if facts.path not in kept]
    if gone:
        store.delete(gone)
    store.remove_uploads(staging, 1 << 62)

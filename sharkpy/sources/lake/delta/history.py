"""Versions of a Delta table, from its log.

deltalake has this too, but blocks all other threads during its requests to a store. So logs of remote tables are read
here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from deltalake import DeltaTable

from sharkpy.base import uri
from sharkpy.base.cancellation import check_cancelled, checked
from sharkpy.base.errors import ResourceError, SourceError
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.sources.lake.delta.place import DeltaPlace
from sharkpy.sources.local_copy import store_with
from sharkpy.sources.side_by_side import side_by_side
from sharkpy.sources.storage.store import ObjectFacts, Store, content_of

_COMMIT = re.compile(r"(\d{20})\.json")
_MOST_BYTES = 64 << 20
"""Most bytes of a commit."""
Version = dict[str, Any]
"""Facts of a commit in the log, and its number as "version"."""


def versions(handle: DeltaTable, place: DeltaPlace, newest: int | None = None) -> list[Version]:
    """Versions whose commits are still in the log, or only the last `newest` ones, the first one first."""
    if not place.is_remote:
        return sorted(handle.history(newest), key=lambda one: int(one["version"]))
    store = store_with(place.location, place.access_id)
    objects, _ = store.children(uri.join(place.location, "_delta_log"))
    commits = [
        (int(match[1]), one) for one in objects if (match := _COMMIT.fullmatch(uri.name_of(one.path))) is not None
    ]
    commits = sorted(commits, key=lambda one: one[0])[-(newest or len(commits)) :]
    return side_by_side(partial(_version, store), commits)


def _version(store: Store, commit: tuple[int, ObjectFacts]) -> Version:
    number, facts = commit
    check_cancelled()
    if facts.size_bytes > _MOST_BYTES:
        message = f'"{uri.redacted(facts.path)}", a commit of Delta, has more than {_MOST_BYTES >> 20} MB'
        raise ResourceError(message, sqlstate="54000")
    content = content_of(facts, store)
    try:
        found = next(_commit_infos(content.decode()), {})
    except ValueError:
        raise SourceError(f'"{uri.redacted(facts.path)}" is no commit of Delta') from None
    return {**found, "version": number}


def _commit_infos(text: str) -> Iterator[Version]:
    for line in checked(text.splitlines()):
        if '"commitInfo"' in line:
            check_json_nesting(line)
            match json.loads(line):
                case {"commitInfo": dict(found)}:
                    yield found

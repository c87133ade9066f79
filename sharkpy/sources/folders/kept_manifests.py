"""Cache of manifests, which never change once written."""

from __future__ import annotations

import threading
from collections import OrderedDict

from sharkpy.base import uri
from sharkpy.base.errors import SourceError
from sharkpy.sources.folders.manifest import Manifest, from_bytes
from sharkpy.sources.storage.store import ObjectFacts, Store, content_of, is_identified

_MOST_FILES = 500_000
"""Most files in the cached manifests, some 150 MB."""
_MOST_BYTES = 256 << 20
"""Largest manifest that is read: enough for a million files."""


class KeptManifests:
    """Manifests that were read last, by the access that read them and the facts of their objects. Safe to use from
    several threads.
    """

    def __init__(self, most_files: int = _MOST_FILES) -> None:
        self._most_files = most_files
        self._num_files = 0
        self._kept: OrderedDict[tuple[str, ObjectFacts], Manifest] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, facts: ObjectFacts, access_id: str) -> Manifest | None:
        with self._lock:
            found = self._kept.get((access_id, facts))
            if found is not None:
                self._kept.move_to_end((access_id, facts))
            return found

    def keep(self, facts: ObjectFacts, access_id: str, manifest: Manifest) -> None:
        if not is_identified(facts):
            return
        with self._lock:
            if (access_id, facts) in self._kept:
                return
            self._kept[access_id, facts] = manifest
            self._num_files += _weight(manifest)
            while self._num_files > self._most_files:
                self._num_files -= _weight(self._kept.popitem(last=False)[1])


MANIFESTS = KeptManifests()


def read_manifest(facts: ObjectFacts, store: Store, access_id: str) -> Manifest:
    """Manifest of an object, from the cache or by one request; SourceError if it is gone or is not a manifest."""
    found = MANIFESTS.find(facts, access_id)
    if found is None:
        if facts.size_bytes > _MOST_BYTES:
            raise SourceError(f'"{uri.redacted(facts.path)}" has more than {_MOST_BYTES >> 20} MB for a list of files')
        content = content_of(facts, store)
        found = from_bytes(content, facts.path, access_id)
        MANIFESTS.keep(facts, access_id, found)
    return found


def _weight(manifest: Manifest) -> int:
    return len(manifest.files) + 1

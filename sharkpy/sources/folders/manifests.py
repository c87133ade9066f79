"""Manifests of earlier releases: the files of one generation of a remote folder, never changed, and cached.

A folder has its manifests in `_generations`, each under the name of its generation, `base_N`, `delta_N` or `delta_M_N`.
The files are in `_files/<id of a write>`, of this folder or of one above it. They keep their names as long as a
manifest names them. A manifest names no files elsewhere: permission to write into a folder gives access to nothing
outside of it.

A manifest is JSON: its version, the id of the write that made it, and its files in the order of their rows, each by its
path relative to the folder, size in bytes, modification time in nanoseconds, and tag.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from uuid import uuid4

from sharkpy.base import uri
from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.base.records import dataclass
from sharkpy.sources.layout import DataFile
from sharkpy.sources.storage.store import ObjectFacts, Store, content_of, is_identified

GENERATIONS = "_generations"
"""Name of the folder of manifests in a table's folder."""
FILES = "_files"
"""Name of the folder of the files that writes have put in a table's folder."""
STAGING_PREFIX = ".staging-"
"""Start of the name of a local folder that holds the files of a write into a listed folder."""
_VERSION = 1
_UP = ".."


@dataclass(frozen=True, slots=True)
class Manifest:
    """Files of a generation, in the order of their rows, and the id of the write that made it."""

    write: str
    files: tuple[DataFile, ...]


def new_write(folder: str) -> str:
    """Location for the files of a new write into a folder."""
    return uri.join(folder, FILES, uuid4().hex)


def write_of(path: str) -> str:
    """Id of the write that has put a file or a folder of staged files at a location; empty for other places."""
    _, found, tail = path.rpartition(f"/{FILES}/")
    return tail.partition("/")[0] if found else ""


def root_of(staging: str) -> str:
    """Folder of everything that a write has staged; `staging` is that folder or a part of it."""
    head, found, tail = staging.rpartition(f"/{FILES}/")
    if not found:
        head, found, tail = staging.rpartition(f"/{STAGING_PREFIX}")
    return f"{head}{found}{tail.partition('/')[0]}"


def home_of_staging(staging: str) -> str:
    """Folder in which a write has staged files; `staging` is the folder of these files or a part of it."""
    return uri.parent(uri.parent(root_of(staging)))


def manifest_path(folder: str, name: str) -> str:
    """Location of the manifest of a generation."""
    return uri.join(folder, GENERATIONS, name)


def decode_manifest(content: bytes, path: str, access_id: str) -> Manifest:
    """Manifest with this content at a location; SourceError if it is not a manifest."""
    folder = uri.parent(uri.parent(path))
    try:
        text = content.decode()
        check_json_nesting(text)
        match json.loads(text):
            case {"version": version} if version != _VERSION:
                message = f'"{uri.redacted(path)}" is of version {version!r}, and this release knows version {_VERSION}'
                raise UnsupportedError(message)
            case {"write": str(write), "files": list(files)}:
                return Manifest(write, tuple(_file(one, folder, access_id) for one in files))
    except ValueError:
        pass
    raise SourceError(f'"{uri.redacted(path)}" is not a list of the files of a generation')


def _file(fields: object, folder: str, access_id: str) -> DataFile:
    match fields:
        case [str(path), int(size), int(modified), str(tag)] if size >= 0:
            return DataFile(_absolute(path, folder), size, modified, tag=tag, access=access_id)
    raise ValueError("fields of another kind")


def _absolute(relative: str, folder: str) -> str:
    """Location of a file from its path relative to a folder; ValueError if it is not the file of a write."""
    parts = relative.split("/")
    ups = next((number for number, part in enumerate(parts) if part != _UP), len(parts))
    above = folder
    for _ in range(ups):
        if uri.parent(above) == above:
            raise ValueError("above the root")
        above = uri.parent(above)
    if not _is_of_write(parts[ups:]):
        raise ValueError("no file of a write")
    return uri.join(above, *parts[ups:])


def _is_of_write(parts: Sequence[str]) -> bool:
    return len(parts) > 2 and parts[0] == FILES and all(parts) and _UP not in parts and "." not in parts


_MOST_FILES = 500_000
"""Most files in the cached manifests, some 150 MB."""
_MOST_BYTES = 256 << 20
"""Largest manifest that is read: enough for a million files."""


class ManifestCache:
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


MANIFESTS = ManifestCache()


def read_manifest(facts: ObjectFacts, store: Store, access_id: str) -> Manifest:
    """Manifest of an object, from the cache or by one request; SourceError if it is gone or is not a manifest."""
    found = MANIFESTS.find(facts, access_id)
    if found is None:
        if facts.size_bytes > _MOST_BYTES:
            raise SourceError(f'"{uri.redacted(facts.path)}" has more than {_MOST_BYTES >> 20} MB for a list of files')
        content = content_of(facts, store)
        found = decode_manifest(content, facts.path, access_id)
        MANIFESTS.keep(facts, access_id, found)
    return found


def _weight(manifest: Manifest) -> int:
    return len(manifest.files) + 1

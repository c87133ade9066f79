"""Listing of a remote folder: its manifests, and the plain files that other programs have put there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from sharkpy.base import uri
from sharkpy.base.cancellation import checked
from sharkpy.base.errors import SourceError
from sharkpy.base.records import dataclass
from sharkpy.sources.folders.generations import Generation, is_hidden_name, is_hidden_path, visible_of
from sharkpy.sources.folders.manifests import FILES, GENERATIONS, Manifest, read_manifest
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import data_file_of
from sharkpy.sources.parallel_requests import parallel_map
from sharkpy.sources.storage.meter import LISTED, counted
from sharkpy.sources.storage.store import ObjectFacts, Store

_GONE = ("58P01", "58030")
_MANIFESTS = f"{GENERATIONS}/"
_LAST = "\U0010ffff"
"""Sorts after all other names."""


@dataclass(frozen=True, slots=True)
class RemoteListing:
    """Entries of a folder by name: plain files with those below them, and manifests."""

    plain: dict[str, list[DataFile]] = field(default_factory=dict)
    manifests: dict[str, ObjectFacts] = field(default_factory=dict)

    @classmethod
    def of(cls, objects: Iterable[ObjectFacts], folder: str, access_id: str) -> RemoteListing:
        manifests, plain = dict[str, ObjectFacts](), dict[str, list[DataFile]]()
        for facts in objects:
            below = path_below(facts.path, folder)
            if (name := _name_of_manifest(facts, below)) is not None:
                manifests[name] = facts
            elif _is_data(facts, below):
                plain.setdefault(below.partition("/")[0], []).append(data_file_of(facts, access_id))
        for files in plain.values():
            if len(files) > 1:
                files.sort(key=lambda file: file.path.split("/"))
        return cls(plain, manifests)

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys((*self.plain, *self.manifests)))

    def visible(self, newest: int | None, store: Store, access_id: str) -> list[tuple[Generation, list[DataFile]]]:
        """Visible generations up to `newest` with their files, in the order of their rows."""
        return visible_in([(self, newest)], store, access_id)[0]


def visible_in(
    listings: Sequence[tuple[RemoteListing, int | None]], store: Store, access_id: str
) -> list[list[tuple[Generation, list[DataFile]]]]:
    """Visible generations of several folders, each up to its own newest one. All manifests are read together."""
    entries = [visible_of(found.names, newest) for found, newest in listings]
    wanted = [
        found.manifests[one.name]
        for (found, _), these in zip(listings, entries, strict=True)
        for one in these
        if one.name in found.manifests
    ]
    read = dict(zip(wanted, parallel_map(lambda one: read_manifest(one, store, access_id), wanted), strict=True))
    LISTED.count(sum(len(manifest.files) for manifest in read.values()))
    return [
        [(one, _files(found, one.name, read)) for one in these]
        for (found, _), these in zip(listings, entries, strict=True)
    ]


def _files(found: RemoteListing, name: str, read: Mapping[ObjectFacts, Manifest]) -> list[DataFile]:
    plain, manifest = found.plain.get(name, []), found.manifests.get(name)
    return plain if manifest is None else [*read[manifest].files, *plain]


def listed(store: Store, folder: str, access_id: str) -> RemoteListing:
    """Listing of a folder, empty if nothing is there or its server has no listings.

    A small folder takes one request. The files of writes, which may be many, are skipped if the store can skip them.
    """
    if not store.traits.lists:
        return RemoteListing()
    return RemoteListing.of(checked(_without_written(store, folder)), folder, access_id)


def is_gone(error: SourceError) -> bool:
    """True if an object was deleted or replaced after it was listed."""
    return error.sqlstate in _GONE


def is_listed(facts: ObjectFacts, folder: str) -> bool:
    """True for objects below a folder that belong to its `RemoteListing`."""
    below = path_below(facts.path, folder)
    return _is_data(facts, below) or _name_of_manifest(facts, below) is not None


def manifest_name(facts: ObjectFacts, folder: str) -> str | None:
    """Name of the generation if the object is a manifest of the folder, otherwise None."""
    return _name_of_manifest(facts, path_below(facts.path, folder))


def written_folder(facts: ObjectFacts) -> str | None:
    """Folder of the table if the object is a manifest, otherwise None."""
    folder = uri.parent(uri.parent(facts.path))
    return None if manifest_name(facts, folder) is None else folder


def data_file(facts: ObjectFacts, folder: str, access_id: str) -> DataFile | None:
    """Data file of an object below a folder; None for the marker of a folder, or below a hidden name."""
    return data_file_of(facts, access_id) if _is_data(facts, path_below(facts.path, folder)) else None


def _name_of_manifest(facts: ObjectFacts, below: str) -> str | None:
    """Name of the generation if the object, at `below` in the folder, is a manifest."""
    if not below.startswith(_MANIFESTS) or not facts.size_bytes:
        return None
    name = below.removeprefix(_MANIFESTS)
    return name if "/" not in name and Generation.of(name).last > 0 else None


def _is_data(facts: ObjectFacts, below: str) -> bool:
    return facts.size_bytes > 0 and not is_hidden_path(below)


def parts_below(file: DataFile, folder: str) -> list[str]:
    """Parts of a file's path below a folder."""
    return path_below(file.path, folder).split("/")


def path_below(path: str, folder: str) -> str:
    """Path of a location relative to a folder that it is in."""
    return path[len(folder.rstrip("/")) + 1 :]


def _without_written(store: Store, folder: str) -> Iterator[ObjectFacts]:
    """Objects below a folder without the files of writes, or with them if skipping would save nothing."""
    if store.traits.has_folders:
        yield from _without_folder_of_files(store, folder)
        return
    written = f"{folder.rstrip('/')}/{FILES}"
    for facts in counted(store.list(folder)):
        if store.traits.is_sorted and facts.path.startswith(f"{written}/"):
            break
        yield facts
    else:
        return
    yield from counted(store.list(folder, after=f"{written}/{_LAST}"))


def _without_folder_of_files(store: Store, folder: str) -> Iterator[ObjectFacts]:
    objects, folders = store.children(folder)
    yield from counted(objects)
    wanted: Sequence[str] = [
        one for one in folders if uri.name_of(one) == GENERATIONS or not is_hidden_name(uri.name_of(one))
    ]
    for found in parallel_map(lambda one: list(counted(store.list(one))), wanted):
        yield from found

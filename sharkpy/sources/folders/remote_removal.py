"""Removal of generations and files that no reader of a remote folder needs any more."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sharkpy.base import uri
from sharkpy.base.cancellation import checked
from sharkpy.base.errors import SourceError
from sharkpy.catalog.folder_readers import WANTED
from sharkpy.sources.folders.generations import Generation, hidden_of
from sharkpy.sources.folders.manifests import FILES, Manifest, read_manifest, write_of
from sharkpy.sources.folders.remote_listing import RemoteListing, listed, written_folder
from sharkpy.sources.layout import DataFile
from sharkpy.sources.parallel_requests import parallel_map
from sharkpy.sources.storage.store import ObjectFacts, Store

_SECOND_NS = 1_000_000_000
_FIRST = "base_0000001"


@dataclass(frozen=True, slots=True)
class Removal:
    """Removal in the folder at a location.

    Files are deleted before the manifests that name them: after a kill, the manifests still tell which files remain. No
    reader uses these files, since they are hidden or were never counted. Files that a stream of a table's rows still
    has to read stay (`wanted_files`), and are deleted after that.
    """

    location: str
    store: Store
    access_id: str

    def hidden(self, newest: int | None) -> frozenset[str]:
        return hidden_of(self._listed().names, newest)

    def remove_hidden(self, newest: int | None, among: Collection[str] | None, keep_seconds: float) -> None:
        found = self._listed()
        hidden = hidden_of(found.names, newest)
        before_ns = time.time_ns() - int(keep_seconds * _SECOND_NS)
        hidden = hidden if among is None else hidden.intersection(among)
        if keep_seconds:
            hidden = frozenset(one for one in hidden if _hidden_since(one, found, newest) <= before_ns)
        self._remove(found, hidden)

    def remove_beyond(self, newest: int) -> None:
        found = self._listed()
        self._remove(found, [name for name in found.names if Generation.of(name).last > newest])

    def remove_uncounted(self, writes: Collection[str], newest: int) -> None:
        """Remove the generations after `newest` that some writes have put there."""
        found = self._listed()
        self._remove(found, self._uncounted(found, writes, newest))

    def has_uncounted(self, writes: Collection[str], newest: int) -> bool:
        return bool(self._uncounted(self._listed(), writes, newest))

    def _uncounted(self, found: RemoteListing, writes: Collection[str], newest: int) -> list[str]:
        behind = [facts for name, facts in found.manifests.items() if Generation.of(name).last > newest]
        return [uri.name_of(facts.path) for facts, one in self._read(behind).items() if one.write in writes]

    def remove_first(self) -> None:
        """See `TableFolder`. The files are deleted that the removed manifests name."""
        self._remove_below(lambda name, _: name == _FIRST)

    def remove_made(self, write: str) -> None:
        """Remove all that a write has placed in this folder and below, and the folders that are empty then."""
        self._remove_below(lambda _, manifest: manifest.write == write)

    def _remove_below(self, is_wanted: Callable[[str, Manifest], bool]) -> None:
        """Remove the manifests in this folder and below that `is_wanted` selects, and the files of their writes."""
        if not self.store.traits.lists:
            return
        for facts, manifest in self._read(self._manifests_below()).items():
            if is_wanted(uri.name_of(facts.path), manifest):
                self.remove_files(file.path for file in manifest.own_files)
                self.store.delete([facts.path])
        self.remove_empty()

    def remove_files(self, paths: Iterable[str]) -> None:
        """Remove files. If the store has folders, also remove the folders of writes that are empty then."""
        gone = list(paths)
        self.store.delete(gone)
        if self.store.traits.has_folders:
            self._remove_folders({uri.parent(path) for path in gone}, self._is_written)

    def remove_empty(self) -> None:
        """Remove empty folders, if the store has folders."""
        if not self.store.traits.has_folders:
            return
        below = [self.location]
        for folder in below:
            below += self.store.children(folder)[1]
        self._remove_folders(below, lambda folder: uri.below(folder, self.location) is not None)

    def remove_if_empty(self) -> bool:
        if not self.store.traits.has_folders or not self.store.has_folder(self.location):
            return False
        self.store.delete([self.location])
        return not self.store.has_folder(self.location)

    def _manifests_below(self) -> list[ObjectFacts]:
        """Manifests of this folder and of all folders below it."""
        return [facts for facts in checked(self.store.list(self.location)) if written_folder(facts) is not None]

    def _listed(self) -> RemoteListing:
        return listed(self.store, self.location, self.access_id)

    def _read(self, places: Sequence[ObjectFacts]) -> dict[ObjectFacts, Manifest]:
        """Read manifests; leave out the ones that another process has removed meanwhile."""

        def read(facts: ObjectFacts) -> Manifest | None:
            try:
                return read_manifest(facts, self.store, self.access_id)
            except SourceError as error:
                if error.sqlstate != "58P01":
                    raise
                return None

        found = zip(places, parallel_map(read, places), strict=True)
        return {facts: manifest for facts, manifest in found if manifest is not None}

    def _remove(self, found: RemoteListing, names: Collection[str]) -> None:
        if not names:
            return
        gone = [found.manifests[name] for name in names if name in found.manifests]
        kept = [facts for name, facts in found.manifests.items() if name not in names]
        named = {file.path for manifest in self._read(kept).values() for file in manifest.files}
        files = {file.path for manifest in self._read(gone).values() for file in manifest.files} - named
        plain = {file.path for name in names for file in _replaced(name, found)}
        wanted = WANTED.among(files | plain)
        self.remove_files(sorted((files | plain) - wanted))
        self.store.delete([facts.path for facts in gone])
        # A stream that has released a file since then may still have seen the manifest, and left the file.
        self.remove_files(sorted((wanted & files) - WANTED.among(wanted)))

    def remove_unnamed(self, paths: Collection[str], *, is_deep: bool) -> None:
        """Remove files of writes that no manifest names and no stream wants. `is_deep`: look at the manifests of all
        folders below this one, too.
        """
        found = self._read(self._manifests_below() if is_deep else list(self._listed().manifests.values()))
        named = {file.path for one in found.values() for file in one.files}
        left = {path for path in paths if write_of(path)} - named
        self.remove_files(sorted(left - WANTED.among(left)))

    def _remove_folders(self, folders: Collection[str], is_ours: Callable[[str], bool]) -> None:
        """Remove empty folders among `folders`, and empty folders above them that are ours, the deepest first."""
        level = {folder for folder in folders if is_ours(folder)}
        while level:
            depth = max(folder.count("/") for folder in level)
            deepest = {folder for folder in level if folder.count("/") == depth}
            self.store.delete(sorted(deepest))
            above = {uri.parent(folder) for folder in deepest}
            level = (level - deepest) | {folder for folder in above if is_ours(folder) and folder not in deepest}

    @staticmethod
    def _is_written(folder: str) -> bool:
        """True for folders that writes make."""
        return f"/{FILES}/" in f"{folder}/"


def _replaced(name: str, found: RemoteListing) -> list[DataFile]:
    """Plain files of a name that were there when they were hidden.

    Files that another program has put there later stay until they are overwritten: no reader has seen them yet.
    """
    files = found.plain.get(name, [])
    if Generation.of(name).last:
        return files
    hiding = [
        facts.modified_ns for one, facts in found.manifests.items() if _hides(Generation.of(one), Generation.of(name))
    ]
    return [file for file in files if file.modified_ns <= max(hiding)] if hiding else files


def _hidden_since(name: str, found: RemoteListing, newest: int | None) -> int:
    """Time at which a generation was first hidden, in nanoseconds since 1970."""
    one, times = Generation.of(name), _times(found)
    return min(
        time_ns
        for other, time_ns in times.items()
        if (newest is None or other.last <= newest) and other.name != name and _hides(other, one)
    )


def _times(found: RemoteListing) -> Mapping[Generation, int]:
    plain = {name: max(file.modified_ns for file in files) for name, files in found.plain.items()}
    manifests = {name: facts.modified_ns for name, facts in found.manifests.items()}
    return {Generation.of(name): at for name, at in {**plain, **manifests}.items()}


def _hides(one: Generation, other: Generation) -> bool:
    if one.is_base:
        return other.last < one.last
    return one.first < one.last and one.first <= other.first and other.last <= one.last

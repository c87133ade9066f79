"""Removal of generations and files that no reader of a remote folder needs any more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from sharkpy.base import uri
from sharkpy.base.cancellation import checked
from sharkpy.base.errors import SourceError
from sharkpy.base.records import dataclass
from sharkpy.catalog.folder_readers import WANTED
from sharkpy.sources.folders.generations import Generation
from sharkpy.sources.folders.manifests import FILES, Manifest, read_manifest, write_of
from sharkpy.sources.folders.remote_listing import RemoteListing, listed, written_folder
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

    def remove_beyond(self, newest: int) -> None:
        found = self._listed()
        self._remove(found, [name for name in found.names if Generation.of(name).last > newest])

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
        plain = {file.path for name in names for file in found.plain.get(name, [])}
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

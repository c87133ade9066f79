"""Folder of a table in a bucket or in HDFS: each generation is a manifest, put there under a new name."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, checked
from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.folder_readers import WANTED
from sharkpy.sources.folders.generations import Generation
from sharkpy.sources.folders.manifests import (
    GENERATIONS,
    home_of_staging,
    new_write,
    read_manifest,
)
from sharkpy.sources.folders.remote_listing import RemoteListing, data_file, is_gone, listed, parts_below
from sharkpy.sources.folders.remote_removal import Removal
from sharkpy.sources.folders.staged_writes import STAGED
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import data_file_of
from sharkpy.sources.parallel_requests import parallel_map
from sharkpy.sources.storage.store import Store

_TRIES = 10
"""Most tries to read the manifests of a listing, if some are removed meanwhile."""
SKEW_NS = 86_400_000_000_000
"""Most that the clock of a store may be ahead of this machine's, in nanoseconds."""


class ObjectFolder:
    """Base of folders in a store, listed or logged."""

    __slots__ = ()
    path: str
    store: Store
    access_id: str

    def exists(self) -> bool:
        if not self.store.traits.lists:
            return self.store.stat(self.path) is not None
        return next(iter(self.store.list(self.path)), None) is not None or self.store.has_folder(self.path)

    def make_staging(self, staging: str, *, in_new_folder: bool = True) -> str:  # noqa: ARG002  nothing is made
        """Register a new write. UnsupportedError if the store cannot write."""
        if not (self.store.traits.writes and self.store.traits.lists):
            home = uri.redacted(home_of_staging(staging))
            raise UnsupportedError(f'"{home}" cannot be written: its server is read-only')
        STAGED.begin(staging)
        return staging

    def staged_subfolder(self, staging: str, name: str) -> str:
        return uri.join(staging, name)

    def sync_staged(self, staging: str) -> None:
        """Nothing to do: a store syncs its objects itself."""

    def remove_empty(self) -> None:
        self._removal.remove_empty()

    def remove_if_empty(self) -> bool:
        return self._removal.remove_if_empty()

    @property
    def _removal(self) -> Removal:
        return Removal(self.path, self.store, self.access_id)

    def _files_below(self, staging: str) -> list[DataFile]:
        """Data files below a staging folder, by path."""
        found = (data_file(facts, staging, self.access_id) for facts in checked(self.store.list(staging)))
        return sorted((one for one in found if one is not None), key=lambda one: parts_below(one, staging))


@dataclass(frozen=True, slots=True)
class RemoteFolder(ObjectFolder):
    """`TableFolder` at a URI, in a store that is reached by an access. Its files are listed.

    1. A staging folder is `_files/<id of the write>`. Tasks put files there under their final names, so nothing has to
       be made first. The files that tasks report to `STAGED` are staged; if none were reported, all files there are.
    2. Plain files count, and folders with names of generations as in a local folder. So do generations of earlier
       releases, whose files a manifest in `_generations` names (see `manifests`).
    """

    path: str
    store: Store
    access_id: str = ""

    def files(self, newest: Callable[[], int | None] | None = None) -> list[DataFile]:
        visible = self._visible(newest or (lambda: None))
        return self._only() if visible is None else [file for _, files in visible for file in files]

    def partition_files(self, newest: int | None, partition: str) -> list[DataFile]:
        found = self._visible(lambda: newest) or []
        return [file.in_partition(partition) for _, files in found for file in files]

    def visible(self, newest: int | None = None) -> list[tuple[Generation, list[DataFile]]]:
        return self._visible(lambda: newest) or []

    def newest(self) -> int:
        return _newest(self._listed())

    def new_staging(self, name: str = "") -> str:  # noqa: ARG002  the manifest has the name
        return new_write(self.path)

    def staged_files(self, staging: str) -> list[DataFile]:
        found = STAGED.reported(staging)
        return self._files_below(staging) if found is None else found

    def discard_staging(self, staging: str, named: Collection[str] = frozenset()) -> None:
        """See `TableFolder`. Cancellation of the statement is ignored, because it may be the reason for the removal.

        `named`: files of a write of another process that stay. So do files that manifests of earlier releases name.
        """
        with Cancellation().active():
            kept: Collection[str] = named
            if not STAGED.knows(staging):
                kept = self._named_of(staging).union(named)
                self.store.remove_uploads(staging, time.time_ns() + SKEW_NS)
            paths = [facts.path for facts in self.store.list(staging) if facts.path not in kept]
            wanted = WANTED.among(paths)
            self._removal.remove_files(path for path in paths if path not in wanted)
            # Only after success: if a request fails, the next try has to know the write.
            STAGED.end(staging)

    def remove_beyond(self, newest: int) -> None:
        """Remove the generations after `newest` that earlier releases have put there: they were never counted."""
        self._removal.remove_beyond(newest)

    def named(self) -> set[str]:
        """Locations of the files that the manifests here name."""
        return self._named_in(self.path)

    def remove_abandoned(self) -> None:
        """Nothing to do: the files that dead processes have staged are found by their notes."""

    def _listed(self) -> RemoteListing:
        return listed(self.store, self.path, self.access_id)

    def _visible(self, newest: Callable[[], int | None]) -> list[tuple[Generation, list[DataFile]]] | None:
        """Visible generations with their files; None if the listing is empty."""
        tries = 0
        while True:
            tries += 1
            counted, found = newest(), self._listed()
            if tries < _TRIES and newest() != counted:
                # A generation that was placed meanwhile may not be listed, and may hide some that are.
                continue
            try:
                return found.visible(counted, self.store, self.access_id) if found.names else None
            except SourceError as error:
                # A failed write took back a listed generation, or a base or a fold has replaced it.
                if tries >= _TRIES or not is_gone(error):
                    raise

    def _only(self) -> list[DataFile]:
        """The one file at the location; none for a folder without data."""
        facts = self.store.stat(self.path)
        if facts is not None:
            return [data_file_of(facts, self.access_id)]
        if self.exists():
            return []
        raise SourceError(f'file or folder "{uri.redacted(self.path)}" does not exist', sqlstate="58P01")

    def _named_of(self, staging: str) -> set[str]:
        """Locations of a write's files that manifests name, in the folders for which they were staged."""
        home = home_of_staging(staging)
        parts = {tuple(parts_below(file, staging)[:-1]) for file in self._files_below(staging)}
        names = {one[:length] for one in parts for length in range(len(one) + 1)}
        named = parallel_map(lambda one: self._named_in(uri.join(home, *one)), sorted(names))
        return set().union(*named)

    def _named_in(self, folder: str) -> set[str]:
        found = list(self._manifests(folder).manifests.values())
        read = parallel_map(lambda facts: read_manifest(facts, self.store, self.access_id), found)
        return {file.path for manifest in read for file in manifest.files}

    def _manifests(self, folder: str) -> RemoteListing:
        return RemoteListing.of(self.store.list(uri.join(folder, GENERATIONS)), folder, self.access_id)


def _newest(found: RemoteListing) -> int:
    return max((Generation.of(name).last for name in found.names), default=0)

"""Folder of a table in a bucket or in HDFS: each generation is a manifest, put there under a new name."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, check_cancelled, checked
from sharkpy.base.errors import ExecutionError, SharkError, SourceError, UnsupportedError
from sharkpy.catalog.folder_readers import WANTED
from sharkpy.sources.folders.generations import Generation, Placed, fold_name, generations_between
from sharkpy.sources.folders.manifests import (
    GENERATIONS,
    Manifest,
    home_of_staging,
    manifest_path,
    new_write,
    read_manifest,
    write_of,
)
from sharkpy.sources.folders.remote_listing import RemoteListing, data_file, is_gone, listed, parts_below
from sharkpy.sources.folders.remote_removal import Removal
from sharkpy.sources.folders.staged_writes import STAGED, put_manifest
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import data_file_of, object_of_file
from sharkpy.sources.parallel_requests import parallel_map
from sharkpy.sources.storage.store import Store

_TRIES = 10
"""Most tries to read the manifests of a listing, if some are removed meanwhile."""
SKEW_NS = 86_400_000_000_000
"""Most that the clock of a store may be ahead of this machine's, in nanoseconds."""
_FEW = 4
"""Most manifests that are requested by name instead of listed."""


@dataclass(frozen=True, slots=True)
class RemoteFolder:
    """`TableFolder` at a URI, in a store that is reached by an access.

    1. A staging folder is `_files/<id of the write>`. Tasks put files there under their final names, so nothing has to
       be made first. The files that tasks report to `STAGED` are staged; if none were reported, all files there are.
    2. A generation counts once its manifest is in `_generations` (see `manifests`). One request puts it there, under a
       name that is still free. The mark of a generation is the id of its write.
    3. `discard_staging` keeps files that count. `second_names` stages files of earlier writes. A file is deleted with
       the last manifest that names it.
    4. Plain files, and folders with names of generations, count as in a local folder.
    5. ExecutionError 40003 if it is not known whether rows count. UnsupportedError if the store cannot write, or cannot
       guarantee that only one writer gets a name.
    """

    location: str
    store: Store
    access_id: str = ""

    def exists(self) -> bool:
        if not self.store.traits.lists:
            return self.store.stat(self.location) is not None
        return next(iter(self.store.list(self.location)), None) is not None or self.store.has_folder(self.location)

    def files(self, newest: Callable[[], int | None] | None = None) -> list[DataFile]:
        visible = self._visible(newest or (lambda: None))
        return self._only() if visible is None else [file for _, files in visible for file in files]

    def partition_files(self, newest: int | None, partition: str) -> list[DataFile]:
        found = self._visible(lambda: newest) or []
        return [file.in_partition(partition) for _, files in found for file in files]

    def deltas(self, after: int, until: int) -> list[DataFile] | None:
        numbers = generations_between(after, until)
        if numbers is None:
            return None
        names = [f"delta_{number:07d}" for number in numbers]
        if len(names) > _FEW:
            known = self._listed().manifests
            found = [known.get(name) for name in names]
        else:
            found = parallel_map(lambda name: self.store.stat(manifest_path(self.location, name)), names)
        facts = [one for one in found if one is not None]
        if len(facts) < len(names):
            return None
        try:
            read = parallel_map(lambda one: read_manifest(one, self.store, self.access_id), facts)
        except SourceError as error:
            if not is_gone(error):
                raise
            return None
        return [file for manifest in read for file in manifest.files]

    def visible(self, newest: int | None = None) -> list[tuple[Generation, list[DataFile]]]:
        return self._visible(lambda: newest) or []

    def newest(self) -> int:
        return _newest(self._listed())

    def new_staging(self, name: str = "") -> str:  # noqa: ARG002  the manifest has the name
        return new_write(self.location)

    def make_staging(self, staging: str, *, in_new_folder: bool = True) -> str:  # noqa: ARG002  nothing is made
        """Register a new write; UnsupportedError if tables cannot be written in this store."""
        if self.store.traits.writes and not self.store.traits.puts_new:
            message = f'writing to "{uri.redacted(self.location)}", whose storage has no conditional writes'
            raise UnsupportedError(message, hint="two writers could take the same name for their rows")
        return make_remote_staging(staging, self.store)

    def staged_subfolder(self, staging: str, name: str) -> str:
        return uri.join(staging, name)

    def staged_files(self, staging: str) -> list[DataFile]:
        found = STAGED.reported(staging)
        return staged_objects(staging, self.store, self.access_id) if found is None else found

    def sync_staged(self, staging: str) -> None:
        pass

    def discard_staging(self, staging: str, named: Collection[str] = frozenset()) -> None:
        """See `TableFolder`. Cancellation of the statement is ignored, because it may be the reason for the removal.

        `named`: for a write of another process, files that manifests name in folders that cannot be found from the
        staged files. Hive partitions with folders of other names have such files.
        """
        with Cancellation().active():
            write = STAGED.find(staging)
            if write is None:
                # The other process may have put its manifest before it ended.
                kept: Collection[str] = self._named_of(staging).union(named)
                self.store.remove_uploads(staging, time.time_ns() + SKEW_NS)
            elif write.is_uncertain:
                return
            else:
                kept = write.placed
            paths = [facts.path for facts in self.store.list(staging) if facts.path not in kept]
            wanted = WANTED.among(paths)
            self._removal.remove_files(path for path in paths if path not in wanted)
            # Only after success: if a request fails, the next try has to know which files count.
            STAGED.end(staging)

    def place(self, staging: str, overwrite: bool) -> Placed | None:
        files = self.staged_files(staging)
        if not overwrite and not files:
            return None
        return self._place_next(staging, files, overwrite)

    def publish(self, staging: str, overwrite: bool) -> Placed | None:
        placed = self.place(staging, overwrite)
        if placed is not None:
            self.remove_hidden()
        return placed

    def place_after(self, staging: str, newest: int | None, overwrite: bool) -> Placed:
        files = self.staged_files(staging)
        if newest is None:
            return self._place_next(staging, files, overwrite)
        name = f"{_kind(overwrite)}_{newest + 1:07d}"
        while True:
            check_cancelled()
            if _newest(self._listed()) > newest:
                self.remove_beyond(newest)
            if self._put(name, staging, files):
                return Placed(self.location, name, write_of(staging))

    def place_fold(
        self, staging: str, folded: Sequence[tuple[Generation, Sequence[DataFile]]], newest: int | None
    ) -> Placed | None:
        first, last = folded[0][0].first, folded[-1][0].last
        now = [(one, files) for one, files in self.visible(newest) if first <= one.first <= last]
        name = fold_name(first, last)
        if now != [(one, list(files)) for one, files in folded] or not self._put(
            name, staging, self.staged_files(staging)
        ):
            return None
        return Placed(self.location, name, write_of(staging))

    def second_names(self, newest: int | None, staging: str) -> None:
        files = [file for _, files in self.visible(newest) for file in files]
        STAGED.report(staging, parallel_map(partial(self._second_name, staging), list(enumerate(files))))

    def sync(self) -> None:
        pass

    def files_of(self, placed: Placed) -> list[DataFile]:
        manifest = self._manifest(placed.name)
        if manifest is None:
            place = uri.redacted(manifest_path(self.location, placed.name))
            raise SourceError(f'"{place}" does not exist', sqlstate="58P01")
        return list(manifest.files)

    def take_back(self, placed: Placed) -> None:
        """See `TableFolder`. Cancellation of the statement is ignored. ExecutionError 40003 if it fails."""
        try:
            with Cancellation().active():
                manifest = self._manifest(placed.name)
                if manifest is None or manifest.write != placed.mark:
                    return
                self.store.delete([manifest_path(self.location, placed.name)])
                STAGED.note_taken_back(manifest.own_files)
                self._removal.remove_files([file.path for file in manifest.own_files])
        except SharkError as error:
            place = uri.redacted(manifest_path(self.location, placed.name))
            message = f'whether the rows that "{place}" names count is not known: {error.message}'
            raise ExecutionError(message, hint="they do for as long as it is there", sqlstate="40003") from None

    def hidden(self, newest: int | None = None) -> frozenset[str]:
        return self._removal.hidden(newest)

    def remove_hidden(
        self, newest: int | None = None, among: Collection[str] | None = None, keep_seconds: float = 0
    ) -> None:
        self._removal.remove_hidden(newest, among, keep_seconds)

    def remove_beyond(self, newest: int) -> None:
        self._removal.remove_beyond(newest)

    def named(self) -> set[str]:
        """Locations of the files that the manifests here name."""
        return self._named_in(self.location)

    def has_uncounted(self, writes: Collection[str], newest: int) -> bool:
        """Whether there are generations that `remove_uncounted` would remove."""
        return self._removal.has_uncounted(writes, newest)

    def remove_uncounted(self, writes: Collection[str], newest: int) -> None:
        """Remove the generations after `newest` that the writes with these ids have put there, and no other ones."""
        self._removal.remove_uncounted(writes, newest)

    def remove_made(self, write: str) -> None:
        """Remove all that the write of a table that was not made in the end has placed, in this folder and below."""
        self._removal.remove_made(write)

    def remove_abandoned(self) -> None:
        """Nothing to do: the files that dead processes have staged are found by their notes."""

    def remove_first(self) -> None:
        self._removal.remove_first()

    def remove_empty(self) -> None:
        self._removal.remove_empty()

    def remove_if_empty(self) -> bool:
        return self._removal.remove_if_empty()

    @property
    def _removal(self) -> Removal:
        return Removal(self.location, self.store, self.access_id)

    def _listed(self) -> RemoteListing:
        return listed(self.store, self.location, self.access_id)

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
        facts = self.store.stat(self.location)
        if facts is not None:
            return [data_file_of(facts, self.access_id)]
        if self.exists():
            return []
        raise SourceError(f'file or folder "{uri.redacted(self.location)}" does not exist', sqlstate="58P01")

    def _place_next(self, staging: str, files: Sequence[DataFile], overwrite: bool) -> Placed:
        """Place files as the next generation. If another writer takes its number first, try the one after that."""
        while True:
            check_cancelled()
            # Other writers wait meanwhile: if there are manifests, plain files, which may be many, are not listed.
            found = self._manifests(self.location)
            newest = _newest(found if found.manifests else self._listed())
            name = f"{_kind(overwrite)}_{newest + 1:07d}"
            if self._put(name, staging, files):
                return Placed(self.location, name, write_of(staging))

    def _put(self, name: str, staging: str, files: Sequence[DataFile]) -> bool:
        """Make files count under a name; False if it is taken."""
        manifest = Manifest(write_of(staging), tuple(files))
        is_put = put_manifest(self.store, self.location, name, manifest, staging)
        if is_put:
            STAGED.note_placed(staging, files)
        return is_put

    def _second_name(self, staging: str, numbered: tuple[int, DataFile]) -> DataFile:
        """File for another manifest to name: a copy of a plain file, since that is deleted by its own name."""
        number, file = numbered
        if write_of(file.path):
            return file
        target = uri.join(staging, f"{number:07d}-{uri.name_of(file.path)}")
        return data_file_of(self.store.copy(object_of_file(file), target), self.access_id)

    def _manifest(self, name: str) -> Manifest | None:
        facts = self.store.stat(manifest_path(self.location, name))
        return None if facts is None else read_manifest(facts, self.store, self.access_id)

    def _named_of(self, staging: str) -> set[str]:
        """Locations of a write's files that manifests name, in the folders for which they were staged."""
        home = home_of_staging(staging)
        parts = {tuple(parts_below(file, staging)[:-1]) for file in staged_objects(staging, self.store, self.access_id)}
        names = {one[:length] for one in parts for length in range(len(one) + 1)}
        named = parallel_map(lambda one: self._named_in(uri.join(home, *one)), sorted(names))
        return set().union(*named)

    def _named_in(self, folder: str) -> set[str]:
        found = list(self._manifests(folder).manifests.values())
        read = parallel_map(lambda facts: read_manifest(facts, self.store, self.access_id), found)
        return {file.path for manifest in read for file in manifest.files}

    def _manifests(self, folder: str) -> RemoteListing:
        return RemoteListing.of(self.store.list(uri.join(folder, GENERATIONS)), folder, self.access_id)


def make_remote_staging(staging: str, store: Store) -> str:
    """Register a new write at a URI. UnsupportedError if the store cannot write."""
    if not (store.traits.writes and store.traits.lists):
        raise UnsupportedError(f'"{uri.redacted(home_of_staging(staging))}" cannot be written: its server is read-only')
    STAGED.begin(staging)
    return staging


def staged_objects(staging: str, store: Store, access_id: str) -> list[DataFile]:
    """Data files below a staging folder at a URI, by path."""
    found = (data_file(facts, staging, access_id) for facts in checked(store.list(staging)))
    return sorted((one for one in found if one is not None), key=lambda one: parts_below(one, staging))


def _kind(overwrite: bool) -> str:
    return "base" if overwrite else "delta"


def _newest(found: RemoteListing) -> int:
    return max((Generation.of(name).last for name in found.names), default=0)

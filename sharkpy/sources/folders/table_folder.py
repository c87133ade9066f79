"""Folder of a table by its location: the one place that knows which kinds of folders there are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import methodcaller
from typing import Protocol

from sharkpy.base import uri
from sharkpy.catalog.local_path import local_path
from sharkpy.sources.folders.generations import Generation, Placed
from sharkpy.sources.folders.local_folder import LocalFolder
from sharkpy.sources.folders.manifest import home_of_staging
from sharkpy.sources.folders.remote_folder import RemoteFolder
from sharkpy.sources.layout import DataFile
from sharkpy.sources.local_copy import store_with

_THREADS = 8
Access = Callable[[str], str]
"""Id of the access to a remote location."""


class TableFolder(Protocol):
    """Folder of a table or of one of its Hive partitions. Names in it, and what counts of them, are those of
    `generations`, in every kind of folder.

    1. Readers list `files`; `newest` is the last generation that counts, None where all do.
    2. A write takes the name of a `new_staging`, notes it, makes it, fills it, and syncs it. Readers do not see it.
    3. `place` makes its files count at once; `place_behind` puts them where nobody sees them until the catalog counts
       their number. `sync` (or `sync_all`) lets that last. `take_back` undoes it.
    4. What others hide stays until `remove_hidden`: readers may have it.
    5. Errors are those of `io_error`: 58P01 for what is missing, 58030, 53100 where there is no room.
    """

    def exists(self) -> bool: ...

    def files(self, newest: Callable[[], int | None] | None = None) -> list[DataFile]:
        """Data files that count, oldest generation first, then by path. The location may also be one file.

        `newest` is asked before and after the folder is listed. SourceError 58P01 where there is nothing.
        """

    def partition_files(self, newest: int | None, partition: str) -> list[DataFile]:
        """Data files of a Hive partition, which has this name; none where it has no folder."""

    def deltas(self, numbers: Iterable[int]) -> list[DataFile] | None:
        """Data files of some generations of INSERT INTO; None where one is not there, as it is after a fold."""

    def visible(self, newest: int | None = None) -> list[tuple[Generation, list[DataFile]]]:
        """What counts, with its files, in the order of its rows."""

    def newest(self) -> int:
        """The last generation that is there; 0 for none."""

    def new_staging(self) -> str:
        """Location of a new staging folder, to be noted before it is made."""

    def make_staging(self, staging: str, *, in_new_folder: bool = True) -> str:
        """Make a staging folder; with the table's own, unless that has to be there (SourceError 58P01)."""

    def staged_subfolder(self, staging: str, name: str) -> str:
        """Folder of a name, perhaps of several parts, in a staging folder, which is not made anew where it is gone."""

    def staged_files(self, staging: str) -> list[DataFile]: ...

    def sync_staged(self, staging: str) -> None:
        """Let what was staged last, before it is put in place."""

    def discard_staging(self, staging: str) -> None:
        """Remove what a write has left; nothing happens where it is gone."""

    def place(self, staging: str, overwrite: bool) -> Placed | None:
        """Let the staged files count, instead of all others with `overwrite`; None where there are none to add."""

    def publish(self, staging: str, overwrite: bool) -> Placed | None:
        """`place`, with all that goes before and after it."""

    def place_behind(self, staging: str, newest: int | None, overwrite: bool) -> Placed:
        """Put the staged files behind the generation `newest`, while no other writer places anything. What a statement
        that was killed has left there goes. None: behind all that is there.
        """

    def place_fold(
        self, staging: str, folded: Sequence[tuple[Generation, Sequence[DataFile]]], newest: int | None
    ) -> Placed | None:
        """Put the staged files in the place of generations that they have the rows of, while no other writer places
        anything; None where `visible` does not give these side by side any more.
        """

    def second_names(self, newest: int | None, staging: str) -> None:
        """Stage all that counted at the generation `newest` once more, while the folder's readers keep it."""

    def sync(self) -> None:
        """Let what was put in place last."""

    def files_of(self, placed: Placed) -> list[DataFile]: ...

    def take_back(self, placed: Placed) -> None:
        """Undo a `place`, unless something else has its name by now."""

    def hidden(self, newest: int | None = None) -> frozenset[str]:
        """Names that a newer base or a fold hides, as `hidden_of` says."""

    def remove_hidden(
        self, newest: int | None = None, among: Collection[str] | None = None, keep_seconds: float = 0
    ) -> None:
        """Remove what is hidden, or what of it is `among` these names; and what dead processes have staged. What was
        hidden less than `keep_seconds` ago stays where readers of other machines are not known.
        """

    def remove_beyond(self, newest: int) -> None:
        """Remove generations that were never counted."""

    def remove_abandoned(self) -> None:
        """Remove what dead processes of this machine have staged."""

    def remove_first(self) -> None:
        """Remove what a CREATE TABLE AS has put here and below, and the folders that hold nothing then."""

    def remove_empty(self) -> None:
        """Remove the folders that hold nothing, here and below."""

    def remove_if_empty(self) -> bool:
        """Remove this folder alone; False if it holds something, or cannot be removed."""


def table_folder(location: str, access: Access | None = None) -> TableFolder:
    """Folder at a location. `access` finds the id of the access to a remote one, as `Catalog.access_id` does; without
    it, UnsupportedError for that.
    """
    if access is None or not uri.is_remote(location):
        return LocalFolder(local_path(location))
    access_id = access(location)
    return RemoteFolder(location, store_with(location, access_id), access_id)


def home_of(staging: str) -> str:
    """Location of the folder that a staging folder is in."""
    return home_of_staging(staging) if uri.is_remote(staging) else uri.parent(staging)


def sync_all(locations: Iterable[str], access: Access | None = None) -> None:
    """Let what was put in place in some folders last, in many at once."""
    folders = [table_folder(location, access) for location in dict.fromkeys(locations)]
    if len(folders) < 2:
        for folder in folders:
            folder.sync()
        return
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(methodcaller("sync"), folders))

"""Files of tables in remote folders: generations are noted while writers wait, and files are listed later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from sharkpy.base import uri
from sharkpy.base.errors import SourceError
from sharkpy.sources.folders.generations import Generation
from sharkpy.sources.folders.manifests import write_of
from sharkpy.sources.folders.table_folder import table_folder
from sharkpy.sources.layout import DataFile
from sharkpy.sources.named_files import Access
from sharkpy.sources.parallel_requests import parallel_map
from sharkpy.sources.remote_files import visible_in_folders

T = TypeVar("T")
_TABLES_AT_ONCE = 4
Visible = Sequence[tuple[Generation, Sequence[DataFile]]]


@dataclass(frozen=True, slots=True)
class FarFolder:
    """Remote folder of a table or Hive partition, with its place in the backup.

    `newest` is the last committed generation, or None if it is not known yet. If `is_owned`, a missing bucket is an
    error.
    """

    location: str
    place: str
    newest: int | None
    is_owned: bool


def with_newest(folders: Sequence[FarFolder], access: Access) -> list[FarFolder]:
    """Fill in the last generation of each folder.

    Later writes have higher numbers. Files that they hide stay in the folder, because the backup is one of its readers.
    """

    def noted(one: FarFolder) -> FarFolder:
        if one.newest is not None:
            return one
        return replace(one, newest=_unless_missing(one, lambda: table_folder(one.location, access).newest(), 0))

    return parallel_map(noted, folders)


def saved_files(tables: Sequence[Sequence[FarFolder]], access: Access) -> dict[str, DataFile]:
    """Return the data files of the tables' folders by their places in the backup.

    The folders of one table are in one store and are listed together. In the backup, each generation is a folder, as in
    a local table; a remote table reads such folders too. Files of a generation are numbered in the order of their rows.
    Plain files keep their names.
    """
    found = dict[str, DataFile]()
    for files in parallel_map(lambda folders: _files_of(folders, access), tables, _TABLES_AT_ONCE):
        found |= files
    return found


def _files_of(folders: Sequence[FarFolder], access: Access) -> dict[str, DataFile]:
    if len(folders) == 1:
        (one,) = folders
        return dict(_placed(one, _unless_missing(one, lambda: _visible(one, access), ())))
    access_id = access(folders[0].location)
    visible = visible_in_folders({one.location: one.newest for one in folders}, access_id)
    return {place: file for one in folders for place, file in _placed(one, visible[one.location])}


def _visible(one: FarFolder, access: Access) -> Visible:
    folder = table_folder(one.location, access)
    if visible := folder.visible(one.newest):
        return visible
    # The location may name a single file.
    return [(Generation("", 0, 0), folder.files(lambda: one.newest))]


def _unless_missing(one: FarFolder, ask: Callable[[], T], otherwise: T) -> T:
    """Return `ask()`, or `otherwise` if the folder does not exist. Tables without rows have no remote folder."""
    try:
        return ask()
    except SourceError as error:
        if error.sqlstate != "58P01" or (one.is_owned and "there is no bucket" in error.message):
            raise
        return otherwise


def _placed(one: FarFolder, visible: Visible) -> Iterator[tuple[str, DataFile]]:
    for generation, files in visible:
        for number, file in enumerate(files):
            inside = uri.below(file.path, one.location)
            if inside == ".":
                yield one.place, file
            elif inside is None or write_of(file.path) or not all(inside.split("/")):
                name = f"{number:07d}-{uri.name_of(file.path)}"
                yield below(one.place, *filter(None, (generation.name, name))), file
            else:
                yield below(one.place, inside), file


def below(place: str, *names: str) -> str:
    """Join `names` to the place of a folder; "." is the warehouse itself."""
    return "/".join(names if place == "." else (place, *names))

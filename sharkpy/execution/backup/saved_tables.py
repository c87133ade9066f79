"""Files of a warehouse's tables and their places in a backup.

Of a remote folder the last generation is noted while writers wait, and the files are listed later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import TypeVar

from sharkpy.base import uri
from sharkpy.base.errors import SourceError
from sharkpy.base.records import dataclass
from sharkpy.base.uri import STATE_FOLDER
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.folder_readers import Reading, wanted_file
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.lake_tables import is_lake
from sharkpy.catalog.model import Table
from sharkpy.catalog.path_gate import local_path, path_or_uri
from sharkpy.catalog.stream_store import StreamFile
from sharkpy.execution.backup.file_copies import local_file
from sharkpy.execution.tables.data_files import table_files
from sharkpy.sources.folders.generations import Generation
from sharkpy.sources.folders.manifests import write_of
from sharkpy.sources.folders.table_folder import table_folder
from sharkpy.sources.layout import DataFile, numbered_name
from sharkpy.sources.named_files import Access
from sharkpy.sources.parallel_requests import parallel_map
from sharkpy.sources.remote_files import visible_in_folders

_SAVED = "saved"
"""Folder, in a stream's folder, of files to be read that were in its table's remote folder."""


@dataclass(slots=True)
class SavedTables:
    """Files of a warehouse's tables by their paths in the backup, and the folders that must exist.

    A folder in the warehouse has the same place in the backup. State that is stored with the catalog of a warehouse at
    a URI gets the place that it has in a local warehouse. A folder outside is saved, under a new name, if its table
    owns the data. So the restored warehouse owns every file that it may delete.
    """

    warehouse: str
    state_dir: str
    num_tables: int = 0
    files: dict[str, DataFile] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    wanted: dict[str, list[StreamFile]] = field(default_factory=dict)
    """Unread files of streams, by stream id, in remote folders of tables, with their names in the backup."""
    _far: list[list[RemoteTableFolder]] = field(default_factory=list)
    _readings: list[Reading] = field(default_factory=list)

    def add_all(self, catalog: Catalog) -> None:
        """Add all permanent tables. Call inside a transaction, so that no write is half saved.

        The backup becomes a reader of their folders until `leave`. For remote folders, only the last generation is
        noted.
        """
        for database in catalog.database_names():
            for table in catalog.tables(database, with_states=True):
                self.num_tables += 1
                if table.location is not None:
                    self._readings.append(catalog.readers.enter(table.location))
                    self._add(table, catalog)
        for entry in catalog.functions.entries():
            for kind, path in entry.resources:
                if (place := self._inside(path)) is not None:
                    self.files[place] = local_file(path)
                else:
                    self.left_out.append(f"{kind.lower()} of function {entry.qualified_name}: {path}")
        alone = [folders for folders in self._far if len(folders) == 1]
        noted = with_newest_generations([one for (one,) in alone], catalog.access_id)
        self._far = [*([one] for one in noted), *(folders for folders in self._far if len(folders) != 1)]

    def list_remote(self, catalog: Catalog) -> None:
        """List the files in remote folders, as of the generations noted by `add_all`."""
        self.files |= remote_files(self._far, catalog.access_id)
        self.folders += [one.place for folders in self._far for one in folders if one.place not in self.files]

    def leave(self, catalog: Catalog) -> None:
        """Stop being a reader of the folders, so that dropped and hidden files may be removed."""
        while self._readings:
            catalog.readers.leave(self._readings.pop())

    def _add(self, table: Table, catalog: Catalog) -> None:
        location, place = table.location or "", self.place(table, None)
        if place is None or is_lake(table):
            # A lake table's metadata has absolute paths, which would lead to the files of the original.
            self._leave_out(table, location)
        elif not table.is_partitioned and self._add_logged(location, place, catalog, catalog.newest_generation(table)):
            pass
        elif uri.is_remote(location) and not (table.is_partitioned or table.is_stream):
            self._far.append([RemoteTableFolder(location, place, catalog.newest_generation(table), table.owns_data)])
        elif not table.is_partitioned:
            self._add_files(path_or_uri(location), place, _data_files(table, catalog))
            self._add_wanted(table, place, catalog)
        elif table.owns_data:
            self.folders.append(place)
        self._add_partitions(table, catalog)

    def _add_partitions(self, table: Table, catalog: Catalog) -> None:
        together = list[RemoteTableFolder]()
        for one in catalog.partitions(table):
            folder, place = one.folder(table), self.place(table, one)
            if one.location is not None:
                self._readings.append(catalog.readers.enter(one.location))
            if place is None or is_lake(table):
                if one.location is not None:
                    self._leave_out(table, folder)
            elif self._add_logged(folder, place, catalog, one.newest):
                pass
            elif not uri.is_remote(folder):
                files = table_folder(folder, catalog).partition_files(one.newest, one.name)
                self._add_files(local_path(folder), place, files)
            else:
                far = RemoteTableFolder(folder, place, one.newest, table.owns_data)
                if one.location is None:
                    together.append(far)
                else:
                    self._far.append([far])
        if together:
            self._far.append(together)

    def _add_wanted(self, stream: Table, place: str, catalog: Catalog) -> None:
        """Add the unread files of a stream in the remote folder of its table."""
        if not stream.is_stream or catalog.streams.feeding(stream.table_id) is None:
            return
        for one in catalog.streams.files(stream.table_id, 0, catalog.streams.end(stream.table_id)):
            partition, path = wanted_file(one.name)
            if path:
                name = "/".join(filter(None, (_SAVED, partition, numbered_name(one.number, path))))
                facts, access = (path, one.size_bytes, one.modified_ns), catalog.access_id(path)
                self.files[joined_place(place, name)] = DataFile(*facts, tag=one.tag, access=access)
                saved = StreamFile(one.number, name, one.size_bytes, one.modified_ns, one.form)
                self.wanted.setdefault(stream.table_id, []).append(saved)

    def _leave_out(self, table: Table, folder: str) -> None:
        self.left_out.append(f"files of table {table.qualified_name}: {uri.redacted(folder)}")

    def _add_logged(self, location: str, place: str, catalog: Catalog, newest: int | None) -> bool:
        """Add the files of a logged folder, one folder for each commit: the copied catalog has no log.

        Return False for other folders.
        """
        if catalog.log.find(location) is None:
            return False
        self.folders.append(place)
        for generation, files in table_folder(location, catalog).visible(newest):
            for number, file in enumerate(files):
                name = f"{generation.name}/{numbered_name(number, file.path)}"
                self.files[joined_place(place, name)] = file
        return True

    def _add_files(self, folder: str, place: str, files: Iterable[DataFile]) -> None:
        found = list(files)
        if [file.path for file in found] == [folder]:
            self.files[place] = found[0]
            return
        self.folders.append(place)
        for file in found:
            self.files[joined_place(place, uri.below(file.path, folder) or uri.name_of(file.path))] = file

    def place(self, table: Table, one: HivePartition | None) -> str | None:
        """Return the place of a table's or Hive partition's folder, or None if it is not saved."""
        inside = self._inside((table.location or "") if one is None else one.folder(table))
        if inside is not None or not table.owns_data:
            return inside
        top = f"outside-{table.table_id}"
        return top if one is None else f"{top}/{one.name}"

    def _inside(self, location: str) -> str | None:
        """Return the place of a location in the warehouse or the catalog's state folder, else None."""
        path = path_or_uri(location)
        if (state := uri.below(path, self.state_dir)) is not None:
            return f"{STATE_FOLDER}/{state}"
        return uri.below(path, self.warehouse)


def _data_files(table: Table, catalog: Catalog) -> tuple[DataFile, ...]:
    try:
        return table_files(table, catalog)
    except SourceError:
        if table.owns_data:
            raise
        # An external table describes files that may come later.
        return ()


T = TypeVar("T")
_TABLES_AT_ONCE = 4
Visible = Sequence[tuple[Generation, Sequence[DataFile]]]


@dataclass(frozen=True, slots=True)
class RemoteTableFolder:
    """Remote folder of a table or Hive partition, with its place in the backup.

    `newest` is the last committed generation, or None if it is not known yet. If `is_owned`, a missing bucket is an
    error.
    """

    location: str
    place: str
    newest: int | None
    is_owned: bool


def with_newest_generations(folders: Sequence[RemoteTableFolder], access: Access) -> list[RemoteTableFolder]:
    """Fill in the last generation of each folder.

    Later writes have higher numbers. Files that they hide stay in the folder, because the backup is one of its readers.
    """

    def noted(one: RemoteTableFolder) -> RemoteTableFolder:
        if one.newest is not None:
            return one
        return replace(one, newest=_unless_missing(one, lambda: table_folder(one.location, access=access).newest(), 0))

    return parallel_map(noted, folders)


def remote_files(tables: Sequence[Sequence[RemoteTableFolder]], access: Access) -> dict[str, DataFile]:
    """Return the data files of the tables' folders by their places in the backup.

    The folders of one table are in one store and are listed together. In the backup, each generation is a folder, as in
    a local table; a remote table reads such folders too. Files of a generation are numbered in the order of their rows.
    Plain files keep their names.
    """
    found = dict[str, DataFile]()
    for files in parallel_map(lambda folders: _files_of(folders, access), tables, _TABLES_AT_ONCE):
        found |= files
    return found


def _files_of(folders: Sequence[RemoteTableFolder], access: Access) -> dict[str, DataFile]:
    if len(folders) == 1:
        (one,) = folders
        return dict(_placed(one, _unless_missing(one, lambda: _visible(one, access), ())))
    access_id = access(folders[0].location)
    visible = visible_in_folders({one.location: one.newest for one in folders}, access_id)
    return {place: file for one in folders for place, file in _placed(one, visible[one.location])}


def _visible(one: RemoteTableFolder, access: Access) -> Visible:
    folder = table_folder(one.location, access=access)
    if visible := folder.visible(one.newest):
        return visible
    # The location may name a single file.
    return [(Generation("", 0, 0), folder.files(lambda: one.newest))]


def _unless_missing(one: RemoteTableFolder, ask: Callable[[], T], otherwise: T) -> T:
    """Return `ask()`, or `otherwise` if the folder does not exist. Tables without rows have no remote folder."""
    try:
        return ask()
    except SourceError as error:
        if error.sqlstate != "58P01" or (one.is_owned and "there is no bucket" in error.message):
            raise
        return otherwise


def _placed(one: RemoteTableFolder, visible: Visible) -> Iterator[tuple[str, DataFile]]:
    for generation, files in visible:
        for number, file in enumerate(files):
            inside = uri.below(file.path, one.location)
            if inside == ".":
                yield one.place, file
            elif inside is None or write_of(file.path) or not all(inside.split("/")):
                name = numbered_name(number, file.path)
                yield joined_place(one.place, *filter(None, (generation.name, name))), file
            else:
                yield joined_place(one.place, inside), file


def joined_place(place: str, *names: str) -> str:
    """Join `names` to the place of a folder; "." is the warehouse itself."""
    return "/".join(names if place == "." else (place, *names))

"""Data files of an Iceberg snapshot, each with the delete files that apply to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.avro.file import AvroFile
from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    MANIFEST_ENTRY_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    _inherit_from_manifest,
    read_manifest_list,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table as IcebergHandle
from pyiceberg.transforms import VoidTransform

from sharkpy.base.cancellation import checked
from sharkpy.sources.side_by_side import side_by_side

_PATH_ID = 2147483546
"""Id of the column of delete files with the paths of data files."""
_NEWEST: Any = max(DATA_FILE_TYPE)
_REFERENCED = next(place for place, one in enumerate(DATA_FILE_TYPE[_NEWEST].fields) if one.field_id == 143)
"""Index of the field with the path of the only data file that deletes apply to."""
_Place = tuple[int, Any]
"""Partition of a file: the number of the spec, and its values."""


@dataclass(frozen=True, slots=True)
class LiveFile:
    """Data file, as manifests describe it, with its delete files: by position and vectors first, then by equality."""

    file: Any
    deletes: tuple[Any, ...]


def live_files(handle: IcebergHandle, snapshot_id: int) -> tuple[list[LiveFile], list[str]]:
    """Data files of a snapshot, and the paths of its manifest list and manifests.

    The rules follow Iceberg's specification, "Scan Planning". Deletes by position apply to files of the same age or
    older, deletes by equality only to older files. Both apply to the same partition; deletes by equality apply
    everywhere if their spec divides nothing.
    """
    snapshot = handle.metadata.snapshot_by_id(snapshot_id)
    assert snapshot is not None  # the caller has found it
    manifests = list(read_manifest_list(handle.io.new_input(snapshot.manifest_list)))
    entries = [entry for found in side_by_side(lambda one: _entries(handle, one), manifests) for entry in found]
    deletes = _Deletes({number for number, spec in handle.specs().items() if _divides_nothing(spec)})
    data: list[ManifestEntry] = []
    for entry in checked(entries):
        if entry.data_file.content == DataFileContent.DATA:
            data.append(entry)
        else:
            deletes.add(entry)
    files = [LiveFile(entry.data_file, tuple(deletes.of(entry))) for entry in checked(data)]
    return files, [snapshot.manifest_list, *(one.manifest_path for one in manifests)]


def _entries(handle: IcebergHandle, manifest: Any) -> Sequence[ManifestEntry]:
    """Live entries of a manifest. Unlike `fetch_manifest_entry`, it keeps the data file that a deletion vector belongs
    to.
    """
    with AvroFile[ManifestEntry](
        handle.io.new_input(manifest.manifest_path),
        MANIFEST_ENTRY_SCHEMAS[_NEWEST],
        read_types={-1: ManifestEntry, 2: DataFile},
        read_enums={0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent},
    ) as reader:
        found = (entry for entry in checked(reader) if entry.status != ManifestEntryStatus.DELETED)
        return [_inherit_from_manifest(entry, manifest) for entry in found]


@dataclass(slots=True)
class _Deletes:
    """Delete files by the data files that they apply to. `undivided`: numbers of specs that divide nothing."""

    undivided: set[int]
    by_path: dict[str, list[ManifestEntry]] = field(default_factory=lambda: defaultdict(list))
    by_place: dict[_Place, list[ManifestEntry]] = field(default_factory=lambda: defaultdict(list))
    equal: dict[_Place, list[ManifestEntry]] = field(default_factory=lambda: defaultdict(list))
    equal_everywhere: list[ManifestEntry] = field(default_factory=list)

    def add(self, entry: ManifestEntry) -> None:
        file = entry.data_file
        if file.content == DataFileContent.POSITION_DELETES:
            if (path := _one_path(file)) is not None:
                self.by_path[path].append(entry)
            else:
                self.by_place[_place(file)].append(entry)
        elif file.spec_id in self.undivided:
            self.equal_everywhere.append(entry)
        else:
            self.equal[_place(file)].append(entry)

    def of(self, data: ManifestEntry) -> Iterator[Any]:
        file, age = data.data_file, _age(data)
        place, path = _place(file), file.file_path
        for entry in (*self.by_path.get(path, ()), *self.by_place.get(place, ())):
            if _age(entry) >= age and _may_have(entry.data_file, path.encode()):
                yield entry.data_file
        for entry in (*self.equal.get(place, ()), *self.equal_everywhere):
            if _age(entry) > age:
                yield entry.data_file


def _divides_nothing(spec: PartitionSpec) -> bool:
    """True for a spec without fields, or only with the fields that a version 1 table has dropped."""
    return all(isinstance(field.transform, VoidTransform) for field in spec.fields)


def _age(entry: ManifestEntry) -> int:
    return int(entry.sequence_number or 0)


def _place(file: Any) -> _Place:
    return file.spec_id or 0, file.partition


def _one_path(file: Any) -> str | None:
    """The only data file that the deletes of a file apply to, if the file says so."""
    path: str | None = file[_REFERENCED]
    bounds = _path_bounds(file)
    if path is None and bounds is not None and bounds[0] == bounds[1]:
        return bounds[0].decode()
    return path


def _path_bounds(file: Any) -> tuple[bytes, bytes] | None:
    """The lowest and the highest path of the data files of deletes; writers may have cut them."""
    low, high = (file.lower_bounds or {}).get(_PATH_ID), (file.upper_bounds or {}).get(_PATH_ID)
    return None if low is None or high is None else (low, high)


def _may_have(file: Any, path: bytes) -> bool:
    bounds = _path_bounds(file)
    return bounds is None or bounds[0] <= path <= bounds[1]

"""Manifests of Iceberg snapshots: their data files with the delete files that apply to each, and commits of new files.

A commit is retried if other writers commit at the same time.
"""

from __future__ import annotations

import random
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

from pyiceberg.avro.file import AvroFile
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, ValidationException
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
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
from pyiceberg.typedef import Record

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, check_cancelled, checked
from sharkpy.base.errors import ExecutionError, SharkError, TableChangedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.lake_tables import NewFile, Replaced
from sharkpy.sources.file_errors import first_line
from sharkpy.sources.lake.iceberg.schemas import partition_value
from sharkpy.sources.lake.parquet_files import footer_of
from sharkpy.sources.parallel_requests import parallel_map

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
    entries = [entry for found in parallel_map(lambda one: _entries(handle, one), manifests) for entry in found]
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


_MARK = "sharkpy.write"
"""Property of a snapshot with the id of the write that made it."""
_CONFLICTS = (CommitFailedException, ValidationException)
_TRIES = 20
_WAIT = 0.05
_MOST_WAIT = 2.0


def commit_files(
    handle: IcebergHandle, files: Sequence[NewFile], *, replaced: Replaced, expected: int | None, is_unchanged: bool
) -> None:
    """Add files to the current version of the table, or replace files by them.

    TableChangedError if `is_unchanged` is required and the snapshot is not `expected`, if columns or partition fields
    differ from `handle`, or if other writers commit first in every try. ExecutionError 40003 if it is not known whether
    the files count; with any other error they do not.
    """
    mark, form = uuid.uuid4().hex, _form(handle)
    made = parallel_map(lambda one: _data_file(handle, one), files)
    for attempt in range(_TRIES):
        check_cancelled()
        current = handle.refresh() if attempt else handle
        if attempt and _has_written(current, mark):
            return
        head = current.metadata.current_snapshot_id
        if (is_unchanged and head != expected) or _form(current) != form:
            raise TableChangedError(f"{'.'.join(handle.name())} was changed while the statement ran")
        try:
            # Once the commit has begun, cancellation of the statement is ignored: the caller has to learn the result.
            with Cancellation().active():
                _commit(current, made, mark, replaced=replaced)
        except _CONFLICTS:
            # A random wait, so that writers that collided do not collide again.
            time.sleep(random.uniform(0, min(_WAIT * 2**attempt, _MOST_WAIT)))
        else:
            return
    if _has_written(handle.refresh(), mark):
        return
    raise TableChangedError(
        f"other writers have changed {'.'.join(handle.name())} each time in {_TRIES} tries to commit"
    )


def _form(handle: IcebergHandle) -> tuple[int, int]:
    """Ids of the columns and partition fields that the files are written for."""
    return handle.schema().schema_id, handle.spec().spec_id


def _has_written(handle: IcebergHandle, mark: str) -> bool:
    """True if a snapshot was made by the write with a mark, although its commit seemed to fail."""
    return any(one.summary is not None and one.summary[_MARK] == mark for one in handle.metadata.snapshots)


def _commit(handle: IcebergHandle, made: Sequence[Any], mark: str, *, replaced: Replaced) -> None:
    """Write a snapshot, and make it the current one."""
    transaction = handle.transaction()
    update = transaction.update_snapshot(snapshot_properties={_MARK: mark})
    gone = _replaced(handle, made, replaced)
    producer: Any = update.overwrite() if gone else update.fast_append()
    # pyiceberg's own retries would not check the table's rows, columns and fields again.
    producer._validate_concurrency = _refuse
    for file in gone:
        producer.delete_data_file(file)
    for file in made:
        producer.append_data_file(file)
    producer.commit()
    try:
        transaction.commit_transaction()
    except _CONFLICTS:
        raise
    except Exception as error:
        if _is_counted(handle, mark, error):
            return
        raise


def _refuse() -> None:
    raise ValidationException("other writers have changed the table")


def _is_counted(handle: IcebergHandle, mark: str, error: Exception) -> bool:
    """True if the write with a mark counts after its commit has failed. ExecutionError 40003 if that is not known."""
    try:
        is_counted = _has_written(handle.refresh(), mark)
    except Exception:  # noqa: BLE001 - the catalog does not answer
        is_counted = None
    # Errors of the engine's own storage are raised before the catalog gets the commit.
    if is_counted is None or (not is_counted and not isinstance(error, (SharkError, NoSuchTableError))):
        message = f"whether the rows have come to count in {'.'.join(handle.name())} is not known: {first_line(error)}"
        hint = f"they do if a snapshot has {_MARK} = {mark} in its summary"
        raise ExecutionError(message, hint=hint, sqlstate="40003") from None
    return is_counted


def _replaced(handle: IcebergHandle, made: Sequence[Any], replaced: Replaced) -> list[Any]:
    """Files that are replaced. Files that are divided by an earlier spec have no values of the current fields, and
    stay.
    """
    if replaced is Replaced.NOTHING or handle.metadata.current_snapshot_id is None:
        return []
    known = [one.file for one in live_files(handle, handle.metadata.current_snapshot_id)[0]]
    spec = handle.spec()
    if replaced is Replaced.ALL or spec.is_unpartitioned():
        return known
    written = {file.partition for file in made}
    return [file for file in known if file.spec_id == spec.spec_id and file.partition in written]


def _data_file(handle: IcebergHandle, file: NewFile) -> Any:
    """Entry of a new file, with the statistics of its footer."""
    schema, spec = handle.schema(), handle.spec()
    metadata, _ = footer_of(file.path, handle.io.access_id(file.path))
    statistics = data_file_statistics_from_parquet_metadata(
        parquet_metadata=metadata,
        stats_columns=compute_statistics_plan(schema, handle.properties),
        parquet_column_mapping=parquet_path_to_id_mapping(schema),
    )
    fields = spec.partition_type(schema).fields
    values = [partition_value(text, one.field_type, one.name) for text, one in zip(file.values, fields, strict=True)]
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=file.path if uri.is_remote(file.path) else f"file://{file.path}",
        file_format=FileFormat.PARQUET,
        partition=Record(*values),
        file_size_in_bytes=file.size_bytes,
        sort_order_id=None,
        spec_id=spec.spec_id,
        equality_ids=None,
        key_metadata=None,
        **statistics.to_serialized_dict(),
    )

"""Log of a Delta table: its location, calls of deltalake for it, its versions, and t.snapshots, t.history and t.files.

deltalake blocks all other threads during its requests to a store. So versions of remote tables are read here.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
from deltalake import DeltaTable

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, check_cancelled, checked
from sharkpy.base.errors import ExecutionError, ResourceError, SourceError, UnsupportedError
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.base.records import dataclass
from sharkpy.catalog.system_tables import SystemTable
from sharkpy.sources.lake.lake_format import LakeReach
from sharkpy.sources.lake.lake_table import LakeTable, Row, Rows, metadata_table, moment_of
from sharkpy.sources.open_files import store_for_access
from sharkpy.sources.parallel_requests import parallel_map
from sharkpy.sources.remote_files import has_files
from sharkpy.sources.storage.access import ACCESSES
from sharkpy.sources.storage.object_reader import root_and_key
from sharkpy.sources.storage.requests import CallThreads, result_of
from sharkpy.sources.storage.store import ObjectFacts, Store, content_of
from sharkpy.values.types import BIGINT, STRING, TIMESTAMP, Field, MapType, Schema

T = TypeVar("T")
_CALLS = CallThreads(32)
_HDFS = frozenset({"hdfs", "viewfs"})
_MOST_SECONDS = 600.0
"""Time limit of a deltalake call for a remote table: its HDFS library waits for a name node without end."""
_IN_HDFS = re.compile(r"[A-Za-z0-9_./=+,@~-]*")
"""Paths that deltalake writes to HDFS unchanged. It encodes other characters as in a URL, and HDFS does not decode
them.
"""


@dataclass(frozen=True, slots=True)
class DeltaFolder:
    """Folder of a table, for one session. `is_named`: a statement names it, so it is not a table of the catalog."""

    location: str
    reach: LakeReach
    is_named: bool = False

    @property
    def is_remote(self) -> bool:
        return uri.is_remote(self.location)

    @property
    def home(self) -> str | None:
        return None if self.is_named else self.location

    @property
    def access_id(self) -> str:
        """Id of the access to the folder; empty for a local one."""
        return self.reach.access_id(self.location, self.home) if self.is_remote else ""

    @property
    def options(self) -> dict[str, str] | None:
        """deltalake's options for storage. UnsupportedError for storage and folders that it cannot access."""
        if not self.is_remote:
            return None
        if uri.scheme_of(self.location) in _HDFS and not _IN_HDFS.fullmatch(root_and_key(self.location)[1]):
            message = (
                f'a table of Delta in "{uri.redacted(self.location)}", a path of HDFS with characters of URLs\' escapes'
            )
            raise UnsupportedError(message, hint="take letters from a to z, digits and _ . - = + , @ ~")
        from sharkpy.sources.storage.library_options import library_options

        return library_options(self.location, ACCESSES.find(self.access_id))

    @property
    def has_table(self) -> bool:
        """True if there is a log. deltalake's own check would block all other threads during the request."""
        if not self.is_remote:
            return bool(DeltaTable.is_deltatable(self.location))
        return has_files(uri.join(self.location, "_delta_log"), self.access_id)

    def open(self) -> DeltaTable:
        options = self.options
        return self.asked(lambda: DeltaTable(self.location, storage_options=options))

    def asked(self, call: Callable[[], T]) -> T:
        """Result of a deltalake call. For a remote table it may take long; the statement can be cancelled meanwhile.

        ExecutionError 08006 if it takes too long.
        """
        return result_of(partial(self._bounded, call)) if self.is_remote else call()

    def changed(self, call: Callable[[], T]) -> T:
        """Result of a deltalake call that changes the log. Cancellation of the statement is ignored.

        ExecutionError 08006 if it takes too long: it may still change the log later.
        """
        with Cancellation().active():
            return self.asked(call)

    async def _bounded(self, call: Callable[[], T]) -> T:
        try:
            async with asyncio.timeout(_MOST_SECONDS):
                return await _CALLS.run(call)
        except TimeoutError:
            message = f'"{uri.redacted(self.location)}" has not answered within {_MOST_SECONDS:.0f} seconds'
            raise ExecutionError(message, sqlstate="08006") from None

    def file_access(self, path: str) -> str:
        """Id of the access to a data file. UnsupportedError for a remote file of a local table, and the other way
        round.
        """
        if uri.is_remote(path) != self.is_remote:
            where = "local" if self.is_remote else "remote"
            raise UnsupportedError(
                f'the {where} file "{uri.redacted(path)}" of a table in "{uri.redacted(self.location)}"'
            )
        return self.reach.access_id(path, self.home) if self.is_remote else ""


_COMMIT = re.compile(r"(\d{20})\.json")
_MOST_BYTES = 64 << 20
"""Most bytes of a commit."""
Version = dict[str, Any]
"""Facts of a commit in the log, and its number as "version"."""


def versions(handle: DeltaTable, place: DeltaFolder, newest: int | None = None) -> list[Version]:
    """Versions whose commits are still in the log, or only the last `newest` ones, the first one first."""
    if not place.is_remote:
        return sorted(handle.history(newest), key=lambda one: int(one["version"]))
    store = store_for_access(place.location, place.access_id)
    objects, _ = store.children(uri.join(place.location, "_delta_log"))
    commits = [
        (int(match[1]), one) for one in objects if (match := _COMMIT.fullmatch(uri.name_of(one.path))) is not None
    ]
    commits = sorted(commits, key=lambda one: one[0])[-(newest or len(commits)) :]
    return parallel_map(partial(_version, store), commits)


def _version(store: Store, commit: tuple[int, ObjectFacts]) -> Version:
    number, facts = commit
    check_cancelled()
    if facts.size_bytes > _MOST_BYTES:
        message = f'"{uri.redacted(facts.path)}", a commit of Delta, has more than {_MOST_BYTES >> 20} MB'
        raise ResourceError(message, sqlstate="54000")
    content = content_of(facts, store)
    try:
        found = next(_commit_infos(content.decode()), {})
    except ValueError:
        raise SourceError(f'"{uri.redacted(facts.path)}" is not a commit of Delta') from None
    return {**found, "version": number}


def _commit_infos(text: str) -> Iterator[Version]:
    for line in checked(text.splitlines()):
        if '"commitInfo"' in line:
            check_json_nesting(line)
            match json.loads(line):
                case {"commitInfo": dict(found)}:
                    yield found


_VERSIONS = Schema(
    (
        Field("version", BIGINT),
        Field("timestamp", TIMESTAMP, "when it was committed, in UTC"),
        Field("operation", STRING),
        Field("operation_parameters", MapType(STRING, STRING)),
    )
)
_FILES = Schema((Field("path", STRING), Field("size", BIGINT), Field("num_records", BIGINT)))


def delta_metadata_table(table: LakeTable, what: str) -> SystemTable:
    if what not in _FACTS:
        raise UnsupportedError(f"{table.qualified_name}.{what} of a table of Delta")
    schema, rows = _FACTS[what]
    return metadata_table(table, what, schema, rows)


def _versions(table: LakeTable) -> Iterator[Row]:
    """Versions up to the one that is read, the first one first."""
    found = table.handle
    for one in versions(found.table, found.place):
        if one["version"] <= (table.snapshot.number or 0):
            moment = moment_of(one.get("timestamp") or 0)
            given = [(key, str(value)) for key, value in (one.get("operationParameters") or {}).items()]
            yield one["version"], moment, one.get("operation"), given


def _files(table: LakeTable) -> Iterator[Row]:
    for row in pa.table(table.handle.table.get_add_actions(flatten=True)).to_pylist():
        yield row["path"], row["size_bytes"], row.get("num_records")


_FACTS: dict[str, tuple[Schema, Rows]] = {
    "snapshots": (_VERSIONS, _versions),
    "history": (_VERSIONS, _versions),
    "files": (_FILES, _files),
}

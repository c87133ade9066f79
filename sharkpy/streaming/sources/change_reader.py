"""Rows that are inserted into a table and deleted from it, as a stream WITH CHANGES. Its items are the commits."""

from __future__ import annotations

import itertools
import threading
import time
from typing import TYPE_CHECKING

from sharkpy.base.errors import SourceError
from sharkpy.catalog.continuous_query import Position
from sharkpy.catalog.stream_kinds import HISTORY, MAX_FILES, TABLE
from sharkpy.sql.binder import bind_changes
from sharkpy.sql.queries.table_changes import COLUMNS
from sharkpy.streaming.sources.folder_reader import FAIL_ON_LOSS
from sharkpy.streaming.sources.table_reader import dropped_table_error, followed_table
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.model import Table
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.plan.logical import LogicalPlan

_MOST_COMMITS = 100
"""Maximum number of commits in one query, and in an epoch that is cut: each commit is a part of the query's plan."""


class ChangeReader:
    """Reader of the commits of a managed table, by their numbers. The table's history has their rows.

    1. The first item of a stream WITH HISTORY has all rows after the table's last commit before the stream.
    2. Commits that a query has not read yet are retained for a time (`GarbageCollector.oldest_retained`). A commit that
       is gone raises SourceError. With the stream's property `failOnDataLoss` = 'false' it is passed over.
    """

    keeps_items = False

    def __init__(self, stream: Table, catalog: Catalog) -> None:
        options = () if stream.stream is None else stream.stream.options
        self._stream = stream
        self._catalog = catalog
        self._is_strict = dict(stream.properties).get(FAIL_ON_LOSS, "true").lower() != "false"
        self._max_files = TABLE.value(options, MAX_FILES)
        self._base = catalog.streams.end(stream.table_id) - 1
        """Last commit before the stream."""
        self._start = self._base if dict(options).get(HISTORY) == "true" else self._base + 1
        self._lock = threading.Lock()
        self._end = 0
        self._looked: float | None = None

    @property
    def end(self) -> Position:
        return (self._end,)

    def look(self, age: float = 0.0) -> Position:
        with self._lock:
            now = time.monotonic()
            if self._looked is None or now - self._looked >= age:
                self._end = max(self._base + 1, self._versions()[1] + 1)
                self._looked = now
            return self.end

    def first(self) -> Position:
        oldest = self._versions()[0]
        return (self._start if oldest <= self._base else oldest + 1,)

    def since(self, moment_ms: int) -> Position | None:
        after = self._catalog.history.last_before(moment_ms) + 1
        return (min(max(self._start, after), self._end),)

    def num_gone(self) -> int:
        return self.first()[0] - self._start

    def release(self, end: Position) -> None:
        """Do nothing: the table's retention deletes files."""

    def close(self) -> None:
        """Do nothing: there is nothing open."""

    def unsettled_seconds(self) -> float:
        return 0.0

    def cut(self, start: Position, end: Position) -> Position:
        if start[0] == self._base:
            return (self._base + 1,)
        sizes = self._catalog.history.sizes(self._table().table_id, start[0], _MOST_COMMITS)
        files = itertools.accumulate(size for _, size in sizes)
        fitting = [commit for (commit, _), sum_ in zip(sizes, files, strict=True) if sum_ <= self._max_files]
        last = (fitting or [commit for commit, _ in sizes[:1]] or [end[0] - 1])[-1]
        return (min(end[0], last + 1),)

    def give(self, snapshot: QuerySnapshot, start: Position, end: Position) -> None:
        table, first = self._table(), start[0]
        oldest, needed = self._versions()[0], max(first - 1, self._base)
        if oldest > needed:
            if self._is_strict:
                raise self._gone_error(table, needed, oldest)
            first = oldest + 1
        commits = self._catalog.changes(table, first, end[0] - 1)[::-1]
        begin = commits.pop(0) if first == self._base else None
        schema = Schema(self._stream.schema.fields[: -len(COLUMNS)])
        plans: list[LogicalPlan] = []
        for place in range(0, len(commits), _MOST_COMMITS) or (0,):
            some = commits[place : place + _MOST_COMMITS]
            plans.append(bind_changes(table, schema, some, self._catalog, snapshot.conf, begin))
            begin = None
        snapshot.give_queries(self._stream, plans)

    def _gone_error(self, table: Table, last_read: int, oldest: int) -> SourceError:
        message = (
            f"the changes of {table.qualified_name} after commit {last_read}, which the stream"
            f" {self._stream.qualified_name} has not read, are no longer available: its oldest version is {oldest}"
        )
        hint = (
            f"ALTER TABLE {self._stream.qualified_name} SET TBLPROPERTIES ('{FAIL_ON_LOSS}' = 'false') continues with"
            " later commits; shark.table.retention.unread says how long changes are retained for streams"
        )
        return SourceError(message, hint=hint, sqlstate="55000")

    def _table(self) -> Table:
        table = followed_table(self._stream, self._catalog)
        if table is None:
            raise dropped_table_error(self._stream)
        return table

    def _versions(self) -> tuple[int, int]:
        """Return the oldest and the last version of the table."""
        return self._catalog.history.versions(self._table().table_id) or (self._base, self._base)

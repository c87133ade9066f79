"""Queries that a connection has planned, and runs again over other rows.

To parse and plan a query takes DuckDB longer than to run many of them. So a text that comes again is prepared once,
over sources whose rows are replaced for each run. A source has no rows between two runs.
"""

from __future__ import annotations

import logging
import weakref
from collections import OrderedDict
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
from duckdb import _seam
from duckdb._sources.pyarrow import PyArrowTableSource

from sharkpy.base.records import dataclass
from sharkpy.execution.tasks.inputs import Relation, TaskMetrics, query_over
from sharkpy.udf.connection import with_numbers

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_log = logging.getLogger(__name__)
_MOST_QUERIES = 100
_MOST_TEXT = 2_000_000
"""Limits on the queries of a connection, and on the characters of their texts."""
_MOST_RESULTS = 4_096
"""Rows of a result up to which it pays: DuckDB streams the results of prepared queries with one thread."""
_FACTOR = 4
_FEW_ROWS = 10_000
"""Ratio of row counts from which another plan may be better, and the counts below which all are alike."""


class _Rows(PyArrowTableSource):
    """Source of the table `obj`, which may be replaced by one with the same schema."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows; DuckDB takes objects with this method for sources."""
        return self.obj.__arrow_c_stream__(requested_schema)


@dataclass(frozen=True, slots=True)
class _Planned:
    """Prepared query: `execute` runs it over the rows of `sources`, by relation and part."""

    execute: str
    sources: Mapping[str, Sequence[_Rows]]
    schemas: Mapping[str, Sequence[pa.Schema]]
    rows: Mapping[str, int]
    """Rows of the relations for which it was planned."""
    handles: Sequence[object]
    """DuckDB forgets a source with the last reference to its handle."""

    def suits(self, tables: Mapping[str, Sequence[pa.Table]]) -> bool:
        """Whether the plan can read these tables, and is as good for them."""
        return self.schemas.keys() == tables.keys() and all(
            len(parts) == len(self.schemas[name])
            and _is_alike(sum(map(len, parts)), self.rows[name])
            and all(part.schema.equals(schema) for part, schema in zip(parts, self.schemas[name], strict=True))
            for name, parts in tables.items()
        )

    @contextmanager
    def over(self, tables: Mapping[str, Sequence[pa.Table]]) -> Generator[str]:
        """Give the sources their rows while the body runs the yielded statement."""
        try:
            for name, parts in tables.items():
                for source, part in zip(self.sources[name], parts, strict=True):
                    source.obj = part
            yield self.execute
        finally:
            for name, sources in self.sources.items():
                for source, schema in zip(sources, self.schemas[name], strict=True):
                    source.obj = pa.Table.from_batches([], schema)


@dataclass(slots=True)
class _Text:
    """Text that has come: its plan, and the rows of its last result."""

    planned: _Planned | None = None
    num_results: int = 0
    has_failed: bool = False


class _PlannedQueries:
    """Queries of one connection, the last used one last."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Text] = OrderedDict()
        self._characters = 0
        self._number = 0

    def find(
        self, connection: DuckDBPyConnection, sql: str, tables: Mapping[str, Sequence[pa.Table]]
    ) -> _Planned | None:
        """Return the plan of a text that has come before, with few results."""
        known = self._known.get(sql)
        if known is None:
            self._known[sql] = _Text()
            self._characters += len(sql)
            self._forget(connection)
            return None
        self._known.move_to_end(sql)
        if known.has_failed or known.num_results > _MOST_RESULTS:
            return None
        if known.planned is None or not known.planned.suits(tables):
            if known.planned is not None:
                _deallocate(connection, known.planned)
            known.planned = self._prepared(connection, sql, tables)
            known.has_failed = known.planned is None
        return known.planned

    def note_results(self, sql: str, num_results: int) -> None:
        if (known := self._known.get(sql)) is not None:
            known.num_results = num_results

    def _prepared(
        self, connection: DuckDBPyConnection, sql: str, tables: Mapping[str, Sequence[pa.Table]]
    ) -> _Planned | None:
        self._number += 1
        name = f"shark_planned_{self._number}"
        sources = {relation: [_Rows(part) for part in parts] for relation, parts in tables.items()}
        handles = {
            relation: [_seam.register_source(connection, part) for part in parts] for relation, parts in sources.items()
        }
        text = query_over(sql, {relation: [one.name for one in parts] for relation, parts in handles.items()})
        try:
            connection.execute(f"PREPARE {name} AS {with_numbers(connection, text)}").fetchall()
        except duckdb.Error as error:
            # The query itself has the error, or runs in another way.
            _log.debug("a query cannot be prepared: %s", error)
            return None
        return _Planned(
            f"EXECUTE {name}",
            sources,
            {relation: [part.schema for part in parts] for relation, parts in tables.items()},
            {relation: sum(map(len, parts)) for relation, parts in tables.items()},
            [one for parts in handles.values() for one in parts],
        )

    def _forget(self, connection: DuckDBPyConnection) -> None:
        """Forget queries that were not used for the longest time, beyond the limits."""
        while len(self._known) > _MOST_QUERIES or (self._characters > _MOST_TEXT and len(self._known) > 1):
            sql, known = self._known.popitem(last=False)
            self._characters -= len(sql)
            if known.planned is not None:
                _deallocate(connection, known.planned)


def _deallocate(connection: DuckDBPyConnection, planned: _Planned) -> None:
    with suppress(duckdb.Error):
        connection.execute(planned.execute.replace("EXECUTE", "DEALLOCATE")).fetchall()


def _is_alike(one: int, other: int) -> bool:
    return max(one, other) <= max(_FACTOR * min(one, other), _FEW_ROWS)


_of_connection: weakref.WeakKeyDictionary[Any, _PlannedQueries] = weakref.WeakKeyDictionary()


@contextmanager
def planned_query(
    connection: DuckDBPyConnection, sql: str, relations: Mapping[str, Relation], metrics: TaskMetrics
) -> Generator[str | None]:
    """Yield a statement that runs `sql` over `relations` by an earlier plan, or None if there is none.

    `metrics` count the rows of its result. A connection is used by one thread at a time.
    """
    if not all(isinstance(part, pa.Table) for parts in relations.values() for part in parts):
        yield None
        return
    tables: Any = relations
    queries = _of_connection.setdefault(connection, _PlannedQueries())
    planned, before = queries.find(connection, sql, tables), metrics.rows_out
    try:
        if planned is None:
            yield None
        else:
            with planned.over(tables) as execute:
                yield execute
    finally:
        queries.note_results(sql, metrics.rows_out - before)

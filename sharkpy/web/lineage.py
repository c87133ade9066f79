"""Lineage of a table: the tables that its rows come from, and the tables that get rows from it.

Definitions of views, streams and continuous queries tell it, and the statements that have written tables: the ones of
the tables' versions, and of the history.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING

from sharkpy.base.errors import DatabaseNotFoundError
from sharkpy.base.records import dataclass
from sharkpy.catalog.readable_catalog import TEMPORARY_KINDS
from sharkpy.sql.statement_tables import statement_tables
from sharkpy.web.catalog_calls import kind_of, system_table, table_of

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.continuous_query import ContinuousQuery
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.names import TableName
    from sharkpy.session.history import StatementHistory
    from sharkpy.web.logins import Reader
    from sharkpy.web.requests import ApiRequest

_STEPS = 3
_MOST_TABLES = 60
_MOST_TEXTS = 200
_MOST_CHARACTERS = 20_000
_SECONDS = 0.5
"""Bounds on the texts that one call reads; the parser takes some milliseconds for one that it has not seen before."""
_MOST_CHANGES = 30
_MOST_STATEMENTS = 60
_TEXT_CHARACTERS = 400
_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class LineageTable:
    """A table of the picture. `step`: 0 for the asked one, less for those before it, more for those after it."""

    database: str
    name: str
    kind: str
    step: int


@dataclass(frozen=True, slots=True)
class LineageEdge:
    """Rows of `source` become rows of `target`; both are `database.name`.

    `by`: view, stream, continuous query or statement. `statement`, `user` and `query_id` are of the last statement, or
    null if the reader may not see it.
    """

    source: str
    target: str
    by: str
    statement: str | None = None
    user: str | None = None
    query_id: str | None = None
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class LineageAnswer:
    """Tables within three steps. `is_whole`: nothing was left out for its size."""

    tables: list[LineageTable]
    edges: list[LineageEdge]
    is_whole: bool


def lineage(request: ApiRequest) -> LineageAnswer:
    if (system := system_table(request)) is not None:
        return LineageAnswer([LineageTable(system.database, system.name, "system table", 0)], [], True)
    session, asked = request.parts.engine_session, table_of(request)
    search = _Search(session.catalog, session.statement_history, request.reader)
    steps, edges = {asked: 0}, dict[tuple[str, str], LineageEdge]()
    is_whole = _walk(search.sources, asked, -1, steps, edges)
    is_whole = _walk(search.targets, asked, 1, steps, edges) and is_whole and search.is_whole
    tables = [LineageTable(one.database, one.name, kind_of(one), step) for one, step in steps.items()]
    return LineageAnswer(tables, list(edges.values()), is_whole)


Neighbours = Iterator[tuple["Table", LineageEdge]]


def _walk(
    neighbours: Callable[[Table], Neighbours],
    asked: Table,
    step: int,
    steps: dict[Table, int],
    edges: dict[tuple[str, str], LineageEdge],
) -> bool:
    """Add the tables before or after the asked one. Return False if there are more."""
    waiting, seen, is_whole = deque([(asked, 0)]), {asked}, True
    while waiting:
        table, at = waiting.popleft()
        if abs(at) >= _STEPS:
            is_whole = is_whole and all(other in steps for other, _ in neighbours(table))
            continue
        for other, edge in neighbours(table):
            if other not in steps and len(steps) >= _MOST_TABLES:
                return False
            steps.setdefault(other, at + step)
            edges.setdefault((edge.source, edge.target), edge)
            if other not in seen:
                seen.add(other)
                waiting.append((other, at + step))
    return is_whole


@dataclass(slots=True)
class _Statement:
    """Statement that has written tables."""

    text: str
    user: str
    time: datetime
    query_id: str | None = None


@dataclass(slots=True)
class _Search:
    """Search for the neighbours of tables, as one reader may see them. It ends after some number of texts."""

    catalog: Catalog
    history: StatementHistory
    reader: Reader
    texts_left: int = _MOST_TEXTS
    until: float = field(default_factory=lambda: monotonic() + _SECONDS)
    is_whole: bool = True
    """False if a text was left out."""
    _queries: dict[str, ContinuousQuery] = field(default_factory=dict)
    _defined: list[tuple[Table, str, str]] = field(default_factory=list)
    """Tables with a query, its text, and the database in which the text's names are resolved."""

    def __post_init__(self) -> None:
        self._queries = {one.query_id: one for one in self.catalog.streams.queries()}
        for database in self.catalog.database_names():
            try:
                tables = self.catalog.tables(database)
            except DatabaseNotFoundError:  # It was dropped meanwhile.
                continue
            for table in tables:
                query = self._queries.get(table.continuous)
                if query is not None:
                    self._defined.append((table, query.text, query.database))
                elif table.is_view and table.view_text and table.kind not in TEMPORARY_KINDS:
                    self._defined.append((table, table.view_text, table.view_database))

    def sources(self, table: Table) -> Neighbours:
        """Yield the tables that rows of a table come from."""
        if table.stream is not None:
            source = self.catalog.source_of(table)
            yield from () if source is None else [(source, _edge(source, table, "stream"))]
            return
        for defined, text, database in self._defined:
            if defined == table:
                by = "continuous query" if table.continuous else "view"
                yield from ((one, _edge(one, table, by)) for one in self._read_by(text, database))
        for query in self._queries.values():
            naming = self.catalog.named(query) if table.table_id in _written_by(query) else None
            if naming is not None and naming != table:
                yield naming, _edge(naming, table, "continuous query")
        if not table.is_view:
            yield from self._by_statements(table)

    def targets(self, table: Table) -> Neighbours:
        """Yield the tables that get rows of a table."""
        for stream_id in self.catalog.streams.fed_by(table.table_id):
            if (stream := self.catalog.current_table(stream_id)) is not None:
                yield stream, _edge(table, stream, "stream")
        for defined, text, database in self._defined:
            if table.name in text.lower() and table != defined and table in self._read_by(text, database):
                yield defined, _edge(table, defined, "continuous query" if defined.continuous else "view")
        query = self._queries.get(table.continuous)
        for table_id in () if query is None else _written_by(query):
            target = self.catalog.current_table(table_id)
            if target is not None and target != table:
                yield target, _edge(table, target, "continuous query")
        for one in self._statements(table):
            reads, writes = self._tables_of(one.text, table)
            if table in reads:
                yield from ((target, self._by(one, table, target)) for target in writes if target != table)

    def _by_statements(self, table: Table) -> Neighbours:
        # A version of the table tells which table its statement wrote, whatever name it had then.
        has_history = self.catalog.has_history(table)
        changes = self.catalog.history.changes(table.table_id, limit=_MOST_CHANGES) if has_history else []
        made_by = [_Statement(one.statement, one.user, _time(one.time_ms / 1000)) for one in changes]
        for made in made_by:
            yield from self._edges_to(table, made, self._tables_of(made.text, table)[0])
        for one in self._statements(table):
            reads, writes = self._tables_of(one.text, table)
            if table in writes:
                yield from self._edges_to(table, one, reads)

    def _edges_to(self, table: Table, statement: _Statement, reads: Iterable[Table]) -> Neighbours:
        return ((source, self._by(statement, source, table)) for source in reads if source != table)

    def _by(self, statement: _Statement, source: Table, target: Table) -> LineageEdge:
        if not self.reader.sees(statement.user):
            return _edge(source, target, "statement")
        text = statement.text[:_TEXT_CHARACTERS]
        return _edge(source, target, "statement", text, statement.user, statement.query_id, statement.time)

    def _statements(self, table: Table) -> Iterator[_Statement]:
        """Yield the newest statements with a table's name in them that the reader may see."""
        user = None if self.reader.sees_all else self.reader.user
        for one in self.history.writes(table.name, user, _MOST_STATEMENTS):
            yield _Statement(one.text, one.user, _time(one.started), one.query_id)

    def _read_by(self, text: str, database: str) -> list[Table]:
        return self._found(self._names(text)[0], database)

    def _tables_of(self, text: str, table: Table) -> tuple[list[Table], list[Table]]:
        """Return the tables that a statement reads and writes. `table` is one of them.

        The current database of the statement is not known: it was the table's own if the text names it without one.
        """
        reads, writes = self._names(text)
        database = table.database if ("", table.name) in reads | writes else _DEFAULT
        return self._found(reads, database), self._found(writes, database)

    def _names(self, text: str) -> tuple[frozenset[TableName], frozenset[TableName]]:
        if self.texts_left <= 0 or len(text) > _MOST_CHARACTERS or monotonic() > self.until:
            self.is_whole = False
            return frozenset(), frozenset()
        self.texts_left -= 1
        found = statement_tables(text)
        return found.reads, found.writes

    def _found(self, names: Iterable[TableName], database: str) -> list[Table]:
        """Return the tables of these names that the catalog has now."""
        found = (self.catalog.find_entry(given or database, name) for given, name in sorted(names))
        return [one for one in found if one is not None and one.kind not in TEMPORARY_KINDS]


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _written_by(query: ContinuousQuery) -> tuple[str, ...]:
    return tuple(one for one in (*query.targets, query.bad_rows, query.late_rows) if one)


def _edge(
    source: Table,
    target: Table,
    by: str,
    statement: str | None = None,
    user: str | None = None,
    query_id: str | None = None,
    time: datetime | None = None,
) -> LineageEdge:
    return LineageEdge(source.qualified_name, target.qualified_name, by, statement, user, query_id, time)

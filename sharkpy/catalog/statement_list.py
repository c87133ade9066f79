"""List of ended statements in the catalog's file, for choosing and sorting among many without reading their records."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING

from sharkpy.base.records import dataclass
from sharkpy.catalog.statement_shapes import shape_number

if TYPE_CHECKING:
    from sharkpy.catalog.statement_records import StatementRecord

UNKNOWN = -1.0
"""Place of a record without a figure in an order by this figure."""
FIGURES: tuple[str, ...] = ("seconds", "input_rows", "rows_read", "bytes_read", "cpu_seconds", "peak_bytes")
"""Fields of records by which statements are sorted, in addition to `started`. A new name is a new column."""
FAILED = ("failed", "timed_out")
"""States of statements that failed."""
_ADDED_AT_ONCE = 200
"""Records of earlier engines that each transaction adds to the list."""
_SEARCHED_CHARACTERS = 3
"""Length from which the index of texts helps: it has all parts of three characters."""
_RARE = 1_000
"""Texts with a part up to which the index of texts is used."""
_COLUMNS = ("number", "query_id", "user", "state", "started", *FIGURES, "shape", "text")
_NARROW = ", ".join(("state", *FIGURES, "shape"))
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS statement_list_ (number INTEGER PRIMARY KEY, query_id TEXT UNIQUE NOT NULL,"
    f" user TEXT NOT NULL, state TEXT NOT NULL, started REAL NOT NULL, {', '.join(f'{one} REAL' for one in FIGURES)},"
    " shape INTEGER NOT NULL, text TEXT NOT NULL)",
    # Most orders and groups read only one of the first two indexes: they have all columns but the texts, which are
    # most of the list.
    f"CREATE INDEX IF NOT EXISTS statement_list_all ON statement_list_ (started, query_id, user, {_NARROW})",
    f"CREATE INDEX IF NOT EXISTS statement_list_own ON statement_list_ (user, started, query_id, {_NARROW})",
    f"CREATE INDEX IF NOT EXISTS statement_list_slow ON statement_list_ (ifnull(seconds, {UNKNOWN}), query_id)",
)
_SEARCH = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS statement_search_"
    " USING fts5 (text, content = 'statement_list_', content_rowid = 'number', tokenize = 'trigram')",
    "CREATE TRIGGER IF NOT EXISTS statement_listed AFTER INSERT ON statement_list_"
    " BEGIN INSERT INTO statement_search_ (rowid, text) VALUES (new.number, new.text); END",
    "CREATE TRIGGER IF NOT EXISTS statement_unlisted AFTER DELETE ON statement_list_"
    " BEGIN INSERT INTO statement_search_ (statement_search_, rowid, text)"
    " VALUES ('delete', old.number, old.text); END",
)


@dataclass(frozen=True, slots=True)
class StatementChoice:
    """Choice among statements, and their order.

    `since` and `until` bound the start, in seconds since 1970. `sort` is "started" or one of FIGURES. `after` is the
    figure and the id of the last statement of the page before. `text` is a part of the text in any case of letters.
    """

    states: frozenset[str] = frozenset()
    user: str | None = None
    text: str = ""
    since: float | None = None
    until: float | None = None
    sort: str = "started"
    is_descending: bool = True
    limit: int = 50
    after: tuple[float, str] | None = None

    def key(self, record: StatementRecord) -> tuple[float, str]:
        """Return the place of a record in the order."""
        if self.sort == "started":
            return record.started.timestamp(), record.query_id
        # Some engines do not measure all figures.
        value = getattr(record, self.sort, None)
        return UNKNOWN if value is None else float(value), record.query_id

    def has(self, record: StatementRecord) -> bool:
        """Return whether a record is chosen, and follows `after`."""
        started, key = record.started.timestamp(), self.key(record)
        return (
            (not self.states or record.state.value in self.states)
            and self.user in (None, record.user)
            and (self.since is None or started >= self.since)
            and (self.until is None or started < self.until)
            and (self.after is None or (key < self.after if self.is_descending else key > self.after))
            and self.text.lower() in record.text.lower()
        )

    def sorted(self, records: Sequence[StatementRecord]) -> list[StatementRecord]:
        """Return the first `limit` records in the order."""
        return sorted(records, key=self.key, reverse=self.is_descending)[: self.limit]


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """Ended statement as a member of a group."""

    shape: int
    query_id: str
    seconds: float


@dataclass(frozen=True, slots=True)
class WriteRow:
    """Text of a finished statement that may have written tables. `started` is in seconds since 1970."""

    query_id: str
    user: str
    started: float
    text: str


@dataclass(frozen=True, slots=True)
class FailedStatement:
    """Ended statement that failed. `started` is in seconds since 1970."""

    query_id: str
    started: float
    sqlstate: str
    error: str


WRITE_WORDS = ("INSERT", "CREATE", "MERGE", "FROM", "WITH", "-", "/")
"""Beginnings of the texts of statements that may write tables from other tables; texts may begin with a comment."""


@cache
def _has_trigrams() -> bool:
    """Return whether this SQLite has an index of parts of texts. Otherwise all texts are searched."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE one USING fts5 (text, tokenize = 'trigram')")
        except sqlite3.OperationalError:
            return False
    return True


def create_list(connection: sqlite3.Connection) -> None:
    """Create the list, again if it lacks columns, within the caller's transaction."""
    known = {name for _, name, *_ in connection.execute("PRAGMA table_info(statement_list_)")}
    if known and not known >= set(_COLUMNS):
        connection.execute("DROP TABLE IF EXISTS statement_search_")
        connection.execute("DROP TABLE statement_list_")
    for statement in (*_SCHEMA, *(_SEARCH if _has_trigrams() else ())):
        connection.execute(statement)


def add_to_list(
    connection: sqlite3.Connection, records: Sequence[StatementRecord], read: Callable[[str], StatementRecord]
) -> None:
    """Add ended statements, which the table of bodies has already, and some records of earlier engines.

    `read` returns the record of a body. The list drops what the table of bodies has dropped.
    """
    _add(connection, records)
    older = connection.execute(
        "SELECT body FROM statement_ WHERE number < (SELECT min(number) FROM statement_list_)"
        " ORDER BY number DESC LIMIT ?",
        (_ADDED_AT_ONCE,),
    ).fetchall()
    _add(connection, [read(body) for (body,) in older])
    connection.execute("DELETE FROM statement_list_ WHERE number < (SELECT min(number) FROM statement_)")


def _add(connection: sqlite3.Connection, records: Sequence[StatementRecord]) -> None:
    rows = [
        (
            *(_storable(one.user), one.state.value, one.started.timestamp()),
            *(getattr(one, name, None) for name in FIGURES),
            *(shape_number(one.text), _storable(one.text), one.query_id),
        )
        for one in records
    ]
    connection.executemany("DELETE FROM statement_list_ WHERE query_id = ?", [(one.query_id,) for one in records])
    connection.executemany(
        f"INSERT INTO statement_list_ (number, query_id, {', '.join(_COLUMNS[2:])})"
        f" SELECT number, query_id, {', '.join('?' * len(_COLUMNS[2:]))} FROM statement_ WHERE query_id = ?",
        rows,
    )


def _storable(text: str) -> str:
    """Return a text that SQLite can store. A question mark replaces half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode()


def chosen_bodies(connection: sqlite3.Connection, choice: StatementChoice, version: int) -> list[str]:
    """Return the bodies of the first chosen statements, in their order."""
    order = "DESC" if choice.is_descending else "ASC"
    key = "started" if choice.sort == "started" else f"ifnull({choice.sort}, {UNKNOWN})"
    conditions: list[tuple[str, Sequence[object]]] = []
    if choice.states:
        conditions.append((f"state IN ({', '.join('?' * len(choice.states))})", sorted(choice.states)))
    if choice.user is not None:
        conditions.append(("user = ?", [choice.user]))
    if choice.since is not None:
        conditions.append(("started >= ?", [choice.since]))
    if choice.until is not None:
        conditions.append(("started < ?", [choice.until]))
    if choice.after is not None:
        conditions.append((f"({key}, query_id) {'<' if choice.is_descending else '>'} (?, ?)", choice.after))
    if choice.text:
        conditions.append(_has_text(connection, choice.text))
    where = " AND ".join(condition for condition, _ in conditions) or "1"
    numbers = f"SELECT number FROM statement_list_ WHERE {where} ORDER BY {key} {order}, query_id {order} LIMIT ?"
    parameters = [value for _, values in conditions for value in values]
    found_numbers = [number for (number,) in connection.execute(numbers, (*parameters, choice.limit))]
    body = "SELECT body FROM statement_ WHERE number = ? AND version <= ?"
    rows = (connection.execute(body, (number, version)).fetchone() for number in found_numbers)
    return [row[0] for row in rows if row is not None]


def _has_text(connection: sqlite3.Connection, part: str) -> tuple[str, Sequence[object]]:
    """Return the condition that a text has this part, in any case of letters.

    The index of texts finds rare parts. If many texts have the part, the first ones in the order come up soon without
    it, and all its rows would take longer.
    """
    if len(part) >= _SEARCHED_CHARACTERS and _has_trigrams():
        search = "SELECT rowid FROM statement_search_ WHERE statement_search_ MATCH ?"
        words = ['"' + part.replace('"', '""') + '"']
        found = connection.execute(f"{search} LIMIT {_RARE + 1}", words).fetchall()
        if len(found) <= _RARE or not part.isascii():
            return f"number IN ({search})", words
    escaped = part.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return "text LIKE ? ESCAPE '\\'", [f"%{escaped}%"]


def newest_writes(connection: sqlite3.Connection, part: str, user: str | None, limit: int) -> list[WriteRow]:
    """Return the newest finished statements with `part` in their texts that may have written tables."""
    condition, parameters = _has_text(connection, part)
    words = " OR ".join("text LIKE ?" for _ in WRITE_WORDS)
    of_user, users = ("", ()) if user is None else (" AND user = ?", (user,))
    sql = (
        "SELECT query_id, user, started, text FROM statement_list_"
        f" WHERE {condition} AND state = 'finished' AND ({words}){of_user} ORDER BY started DESC LIMIT ?"
    )
    values = (*parameters, *(f"{word}%" for word in WRITE_WORDS), *users, limit)
    return [WriteRow(*row) for row in connection.execute(sql, values)]


def texts_of(connection: sqlite3.Connection, query_ids: Sequence[str]) -> dict[str, str]:
    """Return the texts of listed statements by their ids."""
    sql = "SELECT text FROM statement_list_ WHERE query_id = ?"
    rows = ((one, connection.execute(sql, (one,)).fetchone()) for one in query_ids)
    return {query_id: row[0] for query_id, row in rows if row is not None}


def newest_shapes(connection: sqlite3.Connection, user: str | None, limit: int) -> list[ShapeRow]:
    """Return the newest ended statements, of one user if it is given, with their shapes."""
    chosen, parameters = ("", ()) if user is None else (" WHERE user = ?", (user,))
    sql = f"SELECT shape, query_id, seconds FROM statement_list_{chosen} ORDER BY started DESC LIMIT ?"
    return [ShapeRow(*row) for row in connection.execute(sql, (*parameters, limit))]


def newest_failures(
    connection: sqlite3.Connection, user: str | None, searched: int, limit: int
) -> list[FailedStatement]:
    """Return the newest failures among the last `searched` statements, of one user if it is given."""
    chosen, parameters = ("", ()) if user is None else (" AND l.user = ?", (user,))
    sql = (
        "SELECT l.query_id, l.started, ifnull(json_extract(s.body, '$.sqlstate'), ''),"
        " ifnull(json_extract(s.body, '$.error'), '')"
        " FROM statement_list_ l JOIN statement_ s ON s.number = l.number"
        " WHERE l.number > (SELECT max(number) FROM statement_list_) - ? AND l.state IN (?, ?)"
        f"{chosen} ORDER BY l.number DESC LIMIT ?"
    )
    return [FailedStatement(*row) for row in connection.execute(sql, (searched, *FAILED, *parameters, limit))]

"""Records of statements: text, user, state, figures, plan and error. Ended ones are in the catalog's file, across
restarts.
"""

from __future__ import annotations

import enum
import json
import sqlite3
import sys
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from sharkpy.base.records import dataclass
from sharkpy.catalog.statement_list import (
    FailedStatement,
    ShapeRow,
    StatementChoice,
    WriteRow,
    add_to_list,
    chosen_bodies,
    create_list,
    newest_failures,
    newest_shapes,
    newest_writes,
    texts_of,
)


class StatementState(enum.StrEnum):
    """State of a statement, by its name in listings and pages."""

    QUEUED = "queued"
    """Waiting for its turn."""
    RUNNING = "running"
    WAITING = "waiting"
    """Open, and idle until its reader asks for more rows."""
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    CLOSED = "closed"
    """Its reader closed it before the last row."""

    @property
    def is_over(self) -> bool:
        return self not in (StatementState.QUEUED, StatementState.RUNNING, StatementState.WAITING)


@dataclass(frozen=True, slots=True)
class StatementRecord:
    """A statement that is running or has ended.

    1. `seconds` runs from start to end. `queued_seconds` are in the queue, `running_seconds` at work, including
       planning. In the rest its reader was busy elsewhere.
    2. Long texts and plans are truncated, with a mark at the end.
    3. A figure is None if the engine did not measure it.
    """

    query_id: str
    kind: str
    """SELECT, CREATE TABLE and so on. PYTHON for work of a program. Empty for a text without a recognized statement."""
    text: str
    user: str
    session: str
    state: StatementState
    started: datetime
    """In UTC, with its zone."""
    seconds: float
    queued_seconds: float
    running_seconds: float
    rows_read: int
    """Rows sent to its reader."""
    rows_written: int
    plan: str = ""
    """Plans of the statement by stage, with their figures, and the decisions taken."""
    progress: str = ""
    """Progress while it runs."""
    sqlstate: str = ""
    error: str = ""
    """Message of the error that ended it."""
    tag: str = ""
    """Label that its session gave it by shark.query.tag."""
    planning_seconds: float | None = None
    """Part of `running_seconds` for resolving names and for planning."""
    input_rows: int | None = None
    """Rows of tables, files and programs that its stages have read."""
    bytes_read: int | None = None
    """Encoded bytes of the columns of blocks, and bytes of data files."""
    bytes_spilled: int | None = None
    """Bytes that DuckDB wrote to temporary files; None if DuckDB did not measure the statement."""
    cpu_seconds: float | None = None
    peak_bytes: int | None = None
    """Estimate of the memory that the engine's process took for it; None if no growth was noticed."""
    blocks_read: int | None = None
    blocks_pruned: int | None = None
    profile: str = ""
    """Operators, stages and decisions, as JSON text: see `sharkpy.explain.profile_json`."""
    error_line: int | None = None
    """Place of the error in the text, from 1."""
    error_column: int | None = None
    error_hint: str | None = None


def cut_text(text: str, most_bytes: int) -> str:
    """Truncate `text` to `most_bytes` of UTF-8. A mark with the number of omitted bytes is added if it was longer."""
    if len(text) * 4 <= most_bytes:
        return text
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= most_bytes:
        return text
    kept = encoded[:most_bytes].decode("utf-8", "ignore")
    return f"{kept}… ({len(encoded) - most_bytes:,} bytes more)"


Keys = Collection[str] | None
"""Ids of statements, or None for all."""
VERSION = 2
"""Version of `body`. Rows of earlier versions lack some figures. Later ones are not read, and are deleted by age."""
_BUSY_SECONDS = 1.0
_DAY_SECONDS = 86_400.0
_PAGE = 1_000
"""Records that are read at once when all are read."""
_LARGE = ("profile", "plan")
"""Fields in `details`. In rows of earlier engines `body` has them."""
_SMALL = tuple((field.name, field.default) for field in fields(StatementRecord) if field.name not in _LARGE)
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS statement_ (number INTEGER PRIMARY KEY, query_id TEXT UNIQUE NOT NULL,"
    " user TEXT NOT NULL, started REAL NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL, details BLOB)",
    "CREATE INDEX IF NOT EXISTS statement_started ON statement_ (started)",
)


class StatementFile:
    """A table in the catalog's SQLite file, for several processes and threads.

    1. Each call has its own connection, which waits at most one second for locks. Raise sqlite3.Error if that is too
       short, or if the file cannot be read or written.
    2. `append` is one short transaction. It also drops the oldest rows beyond `most_rows` and `most_days`.
    """

    def __init__(self, path: str, most_rows: int, most_days: float) -> None:
        self._path = path
        self._most_rows = most_rows
        self._most_days = most_days

    def append(self, records: Sequence[StatementRecord]) -> None:
        rows = [
            (one.query_id, one.user, one.started.timestamp(), VERSION, body_of(one), _details(one)) for one in records
        ]
        with self._connection() as connection:
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA:
                connection.execute(statement)
            if _large_column(connection) != "details":
                connection.execute("ALTER TABLE statement_ ADD COLUMN details BLOB")
            connection.executemany(
                "INSERT OR REPLACE INTO statement_ (query_id, user, started, version, body, details)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                rows,
            )
            oldest = time.time() - self._most_days * _DAY_SECONDS
            connection.execute("DELETE FROM statement_ WHERE started < ?", (oldest,))
            connection.execute(
                "DELETE FROM statement_ WHERE number <= (SELECT max(number) FROM statement_) - ?", (self._most_rows,)
            )
            create_list(connection)
            add_to_list(connection, records, _record)
            connection.execute("COMMIT")

    def chosen(self, choice: StatementChoice) -> list[StatementRecord]:
        """Return the first chosen records, in their order, without their plans and profiles."""
        with self._connection() as connection:
            if not _has_table(connection, "statement_list_"):
                return []
            return [_record(body) for body in chosen_bodies(connection, choice, VERSION)]

    def shapes(self, user: str | None, limit: int) -> list[ShapeRow]:
        """Return the newest statements, of one user if it is given, with their shapes."""
        with self._connection() as connection:
            return newest_shapes(connection, user, limit) if _has_table(connection, "statement_list_") else []

    def failures(self, user: str | None, searched: int, limit: int) -> list[FailedStatement]:
        """Return the newest failures among the last `searched` statements, of one user if it is given."""
        with self._connection() as connection:
            if not _has_table(connection, "statement_list_"):
                return []
            return newest_failures(connection, user, searched, limit)

    def newest(
        self, user: str | None = None, has: Callable[[StatementRecord], bool] = lambda _: True
    ) -> Iterator[StatementRecord]:
        """Yield the records that `has` chooses by their small fields, newest first; of one user if it is given."""
        chosen, parameters = ("", ()) if user is None else (" AND user = ?", (user,))
        with self._connection() as connection:
            if not (large := _large_column(connection)):
                return
            sql = f"SELECT body, {large} FROM statement_ WHERE version <= ?{chosen} ORDER BY started DESC"
            for body, details in connection.execute(sql, (VERSION, *parameters)):
                record = _record(body)
                if has(record):
                    yield _whole(record, details)

    def find(self, query_id: str) -> StatementRecord | None:
        with self._connection() as connection:
            if not (large := _large_column(connection)):
                return None
            sql = f"SELECT body, {large} FROM statement_ WHERE query_id = ? AND version <= ?"
            row = connection.execute(sql, (query_id, VERSION)).fetchone()
        return None if row is None else _whole(_record(row[0]), row[1])

    def bodies(self, user: str | None, query_ids: Keys = None) -> Iterator[list[tuple[str, str]]]:
        """Yield ids and small fields (see `body_of`) in pages, newest first; of one user or some ids if given."""
        with self._connection() as connection:
            if _has_table(connection):
                for page in _pages(connection, "body", user, query_ids):
                    yield [(query_id, body) for query_id, body in page]

    def profiles(self, user: str | None, query_ids: Keys = None) -> Iterator[list[tuple[str, str]]]:
        """Yield ids and profiles of the statements that have one, as `bodies` does."""
        with self._connection() as connection:
            if large := _large_column(connection):
                columns = f"{large}, CASE WHEN {large} IS NULL THEN body END"
                for page in _pages(connection, columns, user, query_ids):
                    found = ((query_id, _profile(details, body)) for query_id, details, body in page)
                    yield [one for one in found if one[1]]

    def texts(self, query_ids: Sequence[str]) -> dict[str, str]:
        """Return the texts of saved statements by their ids."""
        with self._connection() as connection:
            return texts_of(connection, query_ids) if _has_table(connection, "statement_list_") else {}

    def writes(self, part: str, user: str | None, limit: int) -> list[WriteRow]:
        """Return the newest finished statements with `part` in their texts that may have written tables."""
        with self._connection() as connection:
            is_listed = _has_table(connection, "statement_list_")
            return newest_writes(connection, part, user, limit) if is_listed else []

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with closing(
            sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        ) as connection:
            yield connection


def _has_table(connection: sqlite3.Connection, name: str = "statement_") -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone() is not None


def _large_column(connection: sqlite3.Connection) -> str:
    """Return the expression of the large fields: NULL if only earlier engines wrote the table, "" without a table."""
    names = {name for _, name, *_ in connection.execute("PRAGMA table_info(statement_)")}
    return "" if not names else "details" if "details" in names else "NULL"


def _pages(
    connection: sqlite3.Connection, columns: str, user: str | None, query_ids: Keys
) -> Iterator[list[tuple[Any, ...]]]:
    """Yield rows of the id and `columns`. No transaction is open between two pages."""
    chosen, parameters = "", tuple[str, ...]()
    if user is not None:
        chosen, parameters = " AND user = ?", (user,)
    if query_ids is not None:
        chosen += " AND query_id IN (SELECT value FROM json_each(?))"
        parameters = (*parameters, json.dumps(sorted(query_ids)))
    sql = (
        f"SELECT number, query_id, {columns} FROM statement_"
        f" WHERE number < ? AND version <= ?{chosen} ORDER BY number DESC LIMIT {_PAGE}"
    )
    last = sys.maxsize
    while page := connection.execute(sql, (last, VERSION, *parameters)).fetchall():
        last = page[-1][0]
        yield [row[1:] for row in page]


def body_of(record: StatementRecord) -> str:
    """Return the record without plan and profile as JSON in ASCII. Fields with their defaults are left out."""
    # Not `asdict`, which makes deep copies.
    values = {name: value for name, default in _SMALL if (value := getattr(record, name)) != default}
    values["started"] = record.started.timestamp()
    return json.dumps(values, ensure_ascii=True, separators=(",", ":"))


def _record(body: str) -> StatementRecord:
    values = json.loads(body)
    values["started"] = datetime.fromtimestamp(values["started"], UTC)
    values["state"] = StatementState(values["state"])
    return StatementRecord(**values)


def _details(record: StatementRecord) -> bytes | None:
    """Return the profile, whose JSON has no line breaks, and after a line break the plan, compressed."""
    if not record.profile and not record.plan:
        return None
    return zlib.compress(f"{record.profile}\n{record.plan}".encode("utf-8", "surrogatepass"))


def _split(details: bytes) -> tuple[str, str]:
    """Return profile and plan."""
    profile, _, plan = zlib.decompress(details).decode("utf-8", "surrogatepass").partition("\n")
    return profile, plan


def _profile(details: bytes | None, body: str) -> str:
    return _record(body).profile if details is None else _split(details)[0]


def _whole(record: StatementRecord, details: bytes | None) -> StatementRecord:
    if details is None:
        return record
    profile, plan = _split(details)
    return replace(record, profile=profile, plan=plan)

"""Records of statements that have ended, in the catalog's file, across restarts."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields
from datetime import UTC, datetime

from sharkpy.catalog.statement_record import StatementRecord, StatementState

VERSION = 1
"""Version of `body`. Rows of other versions are not read, and are deleted by age."""
_BUSY_SECONDS = 1.0
_DAY_SECONDS = 86_400.0
_FIELDS = tuple(field.name for field in fields(StatementRecord))
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS statement_ (number INTEGER PRIMARY KEY, query_id TEXT UNIQUE NOT NULL,"
    " user TEXT NOT NULL, started REAL NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL)",
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
        rows = [(one.query_id, one.user, one.started.timestamp(), VERSION, _body(one)) for one in records]
        with self._connection() as connection:
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA:
                connection.execute(statement)
            connection.executemany(
                "INSERT OR REPLACE INTO statement_ (query_id, user, started, version, body) VALUES (?, ?, ?, ?, ?)",
                rows,
            )
            oldest = time.time() - self._most_days * _DAY_SECONDS
            connection.execute("DELETE FROM statement_ WHERE started < ?", (oldest,))
            connection.execute(
                "DELETE FROM statement_ WHERE number <= (SELECT max(number) FROM statement_) - ?", (self._most_rows,)
            )
            connection.execute("COMMIT")

    def newest(self, user: str | None = None) -> Iterator[StatementRecord]:
        """Yield records, newest first; only the records of `user` if it is given."""
        chosen, parameters = ("", ()) if user is None else (" AND user = ?", (user,))
        with self._connection() as connection:
            if _has_table(connection):
                sql = f"SELECT body FROM statement_ WHERE version = ?{chosen} ORDER BY started DESC"
                yield from (_record(body) for (body,) in connection.execute(sql, (VERSION, *parameters)))

    def find(self, query_id: str) -> StatementRecord | None:
        with self._connection() as connection:
            if not _has_table(connection):
                return None
            sql = "SELECT body FROM statement_ WHERE query_id = ? AND version = ?"
            row = connection.execute(sql, (query_id, VERSION)).fetchone()
        return None if row is None else _record(row[0])

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with closing(
            sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        ) as connection:
            yield connection


def _has_table(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'statement_'").fetchone() is not None


def _body(record: StatementRecord) -> str:
    # Not `asdict`, which makes deep copies.
    values = {name: getattr(record, name) for name in _FIELDS}
    values["started"] = record.started.timestamp()
    return json.dumps(values, ensure_ascii=True, separators=(",", ":"))


def _record(body: str) -> StatementRecord:
    values = json.loads(body)
    values["started"] = datetime.fromtimestamp(values["started"], UTC)
    values["state"] = StatementState(values["state"])
    return StatementRecord(**values)

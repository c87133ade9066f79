"""Connections of PEP 249, and `connect`."""

from __future__ import annotations

import os
import weakref
from types import TracebackType
from typing import Self

from sharkpy.dbapi import exceptions
from sharkpy.dbapi.cursor import Cursor
from sharkpy.dbapi.engines import close_later, close_session, open_session
from sharkpy.dbapi.exceptions import InterfaceError, NotSupportedError, translated
from sharkpy.session.shark_context import SharkContext
from sharkpy.sql.parameters import Parameters


def connect(
    warehouse: str | os.PathLike[str] | None = None,
    master: str = "local[*]",
    database: str | None = None,
    **conf: object,
) -> Connection:
    """Open a connection over a warehouse folder, in this process (default: as `sharkpy.connect`).

    Connections of the same warehouse and master share one engine, which ends with the last of them; settings, current
    database and temporary tables are each connection's own. Settings are keyword arguments, as in `sharkpy.connect`.
    """
    with translated():
        session = open_session(warehouse, master, conf)
        try:
            if database is not None:
                session.current_database = session.catalog.database(database).name
        except BaseException:
            close_session(session)
            raise
    return Connection(session)


class Connection:
    """Connection over a session with its own settings, current database and temporary tables.

    1. Threads may share a connection, each with its own cursors.
    2. Each statement takes effect, whole, when it ends: `commit` does nothing, `rollback` is an error.
    3. `close` ends the session and its running statements.
    """

    Warning = exceptions.Warning
    Error = exceptions.Error
    InterfaceError = exceptions.InterfaceError
    DatabaseError = exceptions.DatabaseError
    DataError = exceptions.DataError
    OperationalError = exceptions.OperationalError
    IntegrityError = exceptions.IntegrityError
    InternalError = exceptions.InternalError
    ProgrammingError = exceptions.ProgrammingError
    NotSupportedError = exceptions.NotSupportedError
    autocommit = True

    def __init__(self, session: SharkContext) -> None:
        """Take the parts of a connection; called by `connect`."""
        self._session: SharkContext | None = session
        self._end = weakref.finalize(self, close_later, session)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()

    @property
    def session(self) -> SharkContext:
        """Return the session of the connection. Raise InterfaceError after it is closed."""
        if self._session is None:
            raise InterfaceError("this connection is closed")
        return self._session

    @property
    def is_closed(self) -> bool:
        return self._session is None

    def cursor(self) -> Cursor:
        _ = self.session
        return Cursor(self)

    def execute(self, operation: str, parameters: Parameters | None = None) -> Cursor:
        """Run `operation` in a new cursor, and return the cursor."""
        return self.cursor().execute(operation, parameters)

    def cancel(self) -> None:
        """Cancel all running statements of this connection. Threads that wait for one get OperationalError."""
        self.session.cancel()

    def commit(self) -> None:
        """Do nothing: every statement takes effect, whole, when it ends."""
        _ = self.session

    def rollback(self) -> None:
        _ = self.session
        raise NotSupportedError("rollback: a statement's effect stays")

    def close(self) -> None:
        """Close the connection. Idempotent."""
        session, self._session = self._session, None
        if session is not None:
            self._end.detach()
            close_session(session)

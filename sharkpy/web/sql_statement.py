"""Statement of one request: it runs in the session that the request names, or in a session of its own."""

from __future__ import annotations

import sys
import time
from dataclasses import field
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import StatementClosedError
from sharkpy.base.records import dataclass
from sharkpy.sql.parameters import BoundText, bind_parameters, errors_at_template
from sharkpy.thrift.bindings import ttypes
from sharkpy.thrift.operation import NO_ROWS, Operation, State, split_rows
from sharkpy.thrift.sessions import NEWEST_PROTOCOL, ClientSession
from sharkpy.web.errors import RefusedError

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.thrift.server import ServerParts
    from sharkpy.thrift.transport.service import Client
    from sharkpy.values.types import Schema

_GUID_LENGTH = 16


@dataclass(frozen=True, slots=True)
class SqlBody:
    """Statement with its parameters: a list for `?`, an object for `:name`.

    `settings` are for this statement only. The answer has at most `max_rows` rows.
    """

    statement: str
    parameters: list[Any] | dict[str, Any] | None = None
    session_id: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    max_rows: int | None = None
    timeout_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """End of an answer. `has_more`: whether there are rows beyond `max_rows`. `rows_written` is null if the statement
    is none that writes rows.
    """

    rows: int
    has_more: bool
    rows_written: int | None
    seconds: float


class SqlStatement:
    """Statement that runs while its rows are taken.

    1. Call `run`, then `next_rows` until there are no more rows, and always `close`. They block. One thread at a time
       may call them.
    2. `cancel` may be called at any time, from any thread. If `run` has just begun, it may have to be called again.
    """

    def __init__(self, parts: ServerParts, client: Client, body: SqlBody) -> None:
        """`client` has a connection number that no other statement has at the same time."""
        self._parts = parts
        self._client = client
        self._body = body
        self._session: ClientSession | None = None
        self._operation: Operation | None = None
        self._text = BoundText(body.statement, body.statement)
        self._began = time.monotonic()
        self._rows = 0
        self._is_over = self._has_more = False

    @property
    def query_id(self) -> str:
        return self._operation.query_id if self._operation is not None else ""

    @property
    def schema(self) -> Schema:
        """Schema of the rows; empty for a statement without rows. Known after `run`."""
        found = self._operation.schema if self._operation is not None else None
        return NO_ROWS if found is None else found

    @property
    def summary(self) -> Summary:
        written = self._operation.rows_written if self._operation is not None else None
        return Summary(self._rows, self._has_more, written, time.monotonic() - self._began)

    def run(self) -> None:
        """Run the statement until its first rows can be taken. Raise its error."""
        body, parts = self._body, self._parts
        if body.session_id is None:
            session = self._session = parts.opener.open(self._client, None, NEWEST_PROTOCOL, {})
        else:
            session = find_session(parts, body.session_id, self._client)
        if body.parameters is not None:
            self._text = bind_parameters(body.statement, body.parameters)
        with errors_at_template(self._text):
            self._operation = parts.runner.execute(
                session, self._text.text, body.settings, body.timeout_seconds or 0.0, self._client
            )
            self._operation.check()
        if self._operation.state == State.CLOSED_STATE:
            raise StatementClosedError("the session was closed while the statement ran")

    def next_rows(self, most: int = sys.maxsize) -> list[pa.RecordBatch]:
        """Wait for the next rows, about 12 MB and at most `most`. Return an empty list after the last row."""
        operation = self._operation
        if operation is None or self._is_over or not self.schema.names:
            return []
        left = None if self._body.max_rows is None else self._body.max_rows - self._rows
        # One row more shows whether there are more.
        wanted = most if left is None else min(most, left + 1)
        with errors_at_template(self._text):
            _, batches, may_have_more = operation.fetch(wanted, from_start=False)
        count = sum(batch.num_rows for batch in batches)
        self._is_over = not batches or not may_have_more
        if left is not None and count > left:
            batches, _ = split_rows(batches, left)
            count, self._has_more, self._is_over = left, True, True
        self._rows += count
        self._parts.metrics.count("rows_fetched", count)
        return batches

    def cancel(self) -> None:
        """End the statement: its client has gone."""
        if self._operation is None:
            self._parts.runner.end_for(self._client)
        elif self._operation.cancel():
            self._parts.metrics.count("clients_vanished")

    def close(self) -> None:
        """Free the rows. End the statement, and its session if no other statement may use it."""
        if self._operation is not None:
            self._parts.sessions.close_operation(self._operation)
        if self._session is not None:
            self._parts.sessions.close_session(self._session)


def session_id(session: ClientSession) -> str:
    """Return the text of a session's handle: its name and its secret."""
    return str(session.identifier.guid + session.identifier.secret, "ascii")


def find_session(parts: ServerParts, identifier: str, client: Client) -> ClientSession:
    """Return a session of the client. Raise RefusedError 404 if it is unknown, closed or another user's."""
    given = identifier.encode("utf-8", "replace")
    handle = ttypes.THandleIdentifier(guid=given[:_GUID_LENGTH], secret=given[_GUID_LENGTH:])
    session = parts.sessions.session(ttypes.TSessionHandle(sessionId=handle), client)
    if session is None:
        raise RefusedError(404, "there is no such session, or it was closed", "08003", hint="open another session")
    return session

"""`POST /v1/sql`: a statement in, its rows out in one answer. `/v1/sessions` keeps settings from one to the next."""

from __future__ import annotations

import itertools
import math
from dataclasses import field
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from starlette.responses import Response

from sharkpy.base.records import dataclass
from sharkpy.thrift.sessions import NEWEST_PROTOCOL
from sharkpy.thrift.status import as_shark_error
from sharkpy.thrift.transport.service import Client
from sharkpy.web.connections import READER_SECONDS
from sharkpy.web.errors import RefusedError, error_response
from sharkpy.web.requests import ApiRequest
from sharkpy.web.sql_formats import FORMATS, SqlFormat
from sharkpy.web.sql_statement import SqlBody, SqlStatement, find_session, session_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Message, Receive, Scope, Send

    from sharkpy.web.requests import Web

TEXT = "text/plain"
_CANCEL_AGAIN_SECONDS = 0.1
_numbers = itertools.count(-1, -1)
"""Numbers of statements. HiveServer2's connections have positive numbers."""


@dataclass(frozen=True, slots=True)
class SessionBody:
    """Settings of a session, and its first current database."""

    settings: dict[str, str] = field(default_factory=dict)
    database: str | None = None


@dataclass(frozen=True, slots=True)
class OpenedSession:
    session_id: str
    user: str


async def sql(request: ApiRequest) -> Response:
    """Run a statement. The rows are sent while they are computed."""
    body, rows_format = await _sql_body(request), _accepted(request.http.headers.get("accept", ""))
    return SqlResponse(request.web, SqlStatement(request.parts, _client(request), body), body.session_id, rows_format)


async def open_session(request: ApiRequest) -> OpenedSession:
    """Open a session. It ends when it is closed, or when it is idle for as long as a session of HiveServer2 may be."""
    body = await request.body(SessionBody) if request.http.headers.get("content-type") else SessionBody()
    settings = {f"set:hiveconf:{key}": value for key, value in body.settings.items()}
    opened = partial(request.parts.opener.open, _client(request), None, NEWEST_PROTOCOL)
    session = await request.web.in_thread(opened, {**settings, "use:database": body.database or ""})
    return OpenedSession(session_id(session), session.user)


def close_session(request: ApiRequest) -> None:
    """Close a session of the reader, and end its statements."""
    parts = request.parts
    parts.sessions.close_session(find_session(parts, request.name, _client(request)))


def _client(request: ApiRequest) -> Client:
    return Client(request.reader.user, f"{request.host}:0", "http", next(_numbers))


async def _sql_body(request: ApiRequest) -> SqlBody:
    """Return the statement of a request: JSON, or its text. Raise RefusedError if it is malformed."""
    most_bytes = request.parts.config.limits.frame_bytes
    if request.http.headers.get("content-type", "").partition(";")[0].strip().lower() == TEXT:
        try:
            return SqlBody((await request.raw_body(most_bytes)).decode())
        except UnicodeDecodeError:
            raise _refused("the statement is not UTF-8") from None
    body = await request.body(SqlBody, most_bytes)
    if not _is_text([body.statement, *itertools.chain.from_iterable(body.settings.items())]):
        raise _refused("half of a surrogate pair is not text")
    if body.max_rows is not None and body.max_rows < 0:
        raise _refused("max_rows is less than 0")
    if body.timeout_seconds is not None and not 0 < body.timeout_seconds < math.inf:
        raise _refused("timeout_seconds is not a positive number")
    for value in _values(body.parameters):
        if not isinstance(value, (str, int, float, bool, list, type(None))):
            raise _refused("a parameter is neither null, true, false, a number, a string, nor a list of these")
    return body


def _values(parameters: list[Any] | dict[str, Any] | None) -> list[Any]:
    """Return the values, and the items of lists, which are the right sides of IN."""
    given = [*parameters.values()] if isinstance(parameters, dict) else parameters or []
    inner = [one for value in given if isinstance(value, list) for one in value]
    if any(isinstance(one, list) for one in inner):
        raise _refused("a parameter has a list in a list")
    return [*given, *inner]


def _is_text(strings: list[str]) -> bool:
    try:
        "".join(strings).encode()
    except UnicodeEncodeError:
        return False
    return True


def _refused(message: str) -> RefusedError:
    return RefusedError(HTTPStatus.BAD_REQUEST, message, "22023")


def _accepted(accept: str) -> SqlFormat:
    """Return the format that the client likes best. Raise RefusedError if there is none; Arrow is the default."""
    liked: list[tuple[float, str]] = []
    for part in accept.split(","):
        name, *parameters = (one.strip().lower() for one in part.split(";"))
        weight = next((one.removeprefix("q=") for one in parameters if one.startswith("q=")), "1")
        liked.append((_number(weight), name))
    for quality, name in sorted(liked, key=lambda one: -one[0]):
        found = next((one for one in FORMATS if _matches(one, name)), None) if quality > 0 else None
        if found is not None:
            return FORMATS[found]()
    raise RefusedError(HTTPStatus.NOT_ACCEPTABLE, f"rows come as {' or '.join(FORMATS)}", "22023")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _matches(name: str, wanted: str) -> bool:
    return wanted in ("", "*/*", name) or (wanted.endswith("/*") and name.startswith(wanted.removesuffix("*")))


class SqlResponse(Response):
    """Answer with the rows of a statement, sent as the client reads them.

    1. An error before the first row has its HTTP status. An error after it ends the rows, in the way of the format.
    2. A thread works for the statement only while rows are computed, not while the client reads.
    3. The statement ends when the client disconnects.
    """

    def __init__(self, web: Web, statement: SqlStatement, session: str | None, rows_format: SqlFormat) -> None:
        super().__init__()
        self._web = web
        self._statement = statement
        self._session = session
        self._format = rows_format

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[READER_SECONDS] = self._web.config.limits.idle_operation_seconds
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._cancel_when_client_leaves, receive)
                await self._answer(scope, receive, send)
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self._web.in_thread(self._statement.close)

    async def _cancel_when_client_leaves(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        while True:
            await self._web.in_thread(self._statement.cancel)
            await anyio.sleep(_CANCEL_AGAIN_SECONDS)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await self._long(self._first)
        except Exception as error:  # noqa: BLE001 - the client gets it as an answer
            await error_response(error)(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": HTTPStatus.OK.value, "headers": self._head()})
        try:
            while body:
                await send(_part(body))
                body = await self._long(self._next)
        except Exception as error:  # noqa: BLE001 - the client gets it as the end of the rows
            await send(_part(self._format.failure(as_shark_error(error)), is_last=self._format.ends_after_failure))
            # If this was not the last part, the server now cuts the connection.
            return
        await send(_part(self._format.end(self._statement.summary), is_last=True))

    async def _long(self, work: Callable[[], bytes]) -> bytes:
        return await anyio.to_thread.run_sync(work, limiter=self._web.statement_threads)

    def _first(self) -> bytes:
        """Run the statement. Return the head of the answer with the first rows."""
        self._statement.run()
        head = self._format.head(self._statement.schema, self._statement.query_id, self._session)
        return head + self._next()

    def _next(self) -> bytes:
        """Return the next rows, or b"" after the last one. A format may gather rows before it writes them."""
        body = b""
        while not body and (batches := self._statement.next_rows(self._format.most_rows)):
            body = self._format.rows(batches)
        return body

    def _head(self) -> list[tuple[bytes, bytes]]:
        headers = {"Content-Type": self._format.content_type, "X-Sharkpy-Query-Id": self._statement.query_id}
        if self._session is not None:
            headers["X-Sharkpy-Session-Id"] = self._session
        return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]


def _part(body: bytes, *, is_last: bool = False) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": not is_last}

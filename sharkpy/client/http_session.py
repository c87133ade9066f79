"""Session on a server over HTTP: each statement is one request, and its rows are one Arrow stream."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from sharkpy.base.errors import CancelledError, ExecutionError, ParseError, SharkError
from sharkpy.client.cached_names import CachedNames
from sharkpy.client.http_calls import ARROW, Connection, HttpCalls, HttpUrl, cut, parse_http_url
from sharkpy.client.server_errors import server_error
from sharkpy.client.statement_texts import is_plan, used_database
from sharkpy.session.defaults import setting_key, setting_text
from sharkpy.session.result import Result
from sharkpy.sql.parameters import BoundText, bind_parameters, errors_at_template
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, from_arrow, to_arrow

if TYPE_CHECKING:
    from sharkpy.execution.statement import ProgressListener
    from sharkpy.sql.parameters import Parameters

_TYPE, _END, _ERROR = b"sharkpy:type", b"sharkpy:end", b"sharkpy:error"
"""Keys of the metadata of fields, and of the last batch."""


class HttpSession:
    """Session on a server. Several threads may run statements at once, each with its own Result.

    1. A statement ends when its result is closed before its last row: the connection ends.
    2. `cancel` ends all running statements. The threads that wait for them get CancelledError.
    3. `stop` closes the session on the server, with its temporary tables.
    """

    def __init__(self, url: HttpUrl, settings: Mapping[str, str] | None = None) -> None:
        """Raise LoginError if the login is refused, ExecutionError if there is no server."""
        self._url = url
        self._calls = HttpCalls(url)
        self._lock = threading.Lock()
        self._running: set[_Statement] = set()
        self._is_stopped = False
        self._settings = dict(settings or {})
        self.current_database = url.database
        self._id = self._open()

    def _open(self) -> str:
        body = {"settings": self._settings, "database": self.current_database}
        return str(self._calls.call("POST", "/v1/sessions", body)["session_id"])

    def reconnect(self) -> None:
        """Open a new session in the same database, after the server has restarted or has forgotten the old session."""
        self.stop()
        self._calls = HttpCalls(self._url)
        self._id, self._is_stopped = self._open(), False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<HttpSession {self._url}, database {self.current_database}{' (stopped)' if self._is_stopped else ''}>"

    @property
    def master(self) -> str:
        return str(self._url)

    def sql(self, text: str, parameters: Parameters | None = None) -> Result:
        """Run a statement, or several separated by ";", and return the result of the last one.

        `?` in a statement take a sequence of parameters, `:name` a mapping.
        """
        from sharkpy.sql.grammar.split_statements import split_statements

        statements = [statement for statement, _ in split_statements(text)]
        if not statements:
            raise ParseError("there is no statement")
        for statement in statements[:-1]:
            self._run(statement, parameters).close()
        return self._run(statements[-1], parameters)

    def _run(self, text: str, parameters: Parameters | None) -> Result:
        bound = BoundText(text, text) if parameters is None else bind_parameters(text, parameters)
        statement = _Statement(self._calls, bound, self._forget)
        with self._lock:
            self._running.add(statement)
        try:
            schema = statement.run({"statement": bound.text, "session_id": self._id})
            if not schema.names:
                for _ in statement:
                    pass
        except BaseException:
            statement.close()
            raise
        self.current_database = used_database(text) or self.current_database
        if not schema.names:
            return Result(schema, rows_written=statement.rows_written)
        return Result(schema, statement, on_cancel=statement.cancel, is_text=is_plan(text, len(schema)))

    def _forget(self, statement: _Statement) -> None:
        with self._lock:
            self._running.discard(statement)

    def cancel(self) -> None:
        """End the running statements, from any thread."""
        with self._lock:
            running = list(self._running)
        for statement in running:
            statement.cancel()

    def substituted(self, text: str) -> str:
        """Return `text` unchanged: the server replaces its variables."""
        return text

    def take_console(self, console: object) -> None:
        """Do nothing: the server's epochs are not shown."""

    def add_progress_listener(self, listener: ProgressListener) -> Callable[[], None]:  # noqa: ARG002
        """Do nothing: the server reports no progress over HTTP."""
        return lambda: None

    def stop(self) -> None:
        """Close the session on the server, and the connections. Idempotent."""
        if self._is_stopped:
            return
        self._is_stopped = True
        with contextlib.suppress(SharkError):
            self._calls.call("DELETE", f"/v1/sessions/{self._id}")
        self.cancel()
        self._calls.close()


class _Statement:
    """One request. `run` returns the schema; then this is an iterator of the rows' batches.

    It raises the error of the statement, or ExecutionError 08S01 if the answer was cut off. `cancel` may come from any
    thread.
    """

    def __init__(self, calls: HttpCalls, text: BoundText, ended: Callable[[_Statement], None]) -> None:
        self._calls = calls
        self._text = text
        self._ended = ended
        self._connection: Connection | None = None
        self._answer: http.client.HTTPResponse | None = None
        self._reader: pa.RecordBatchStreamReader | None = None
        self._is_cancelled = False
        self.rows_written: int | None = None
        """Number of rows that the statement has written, known after the last row."""

    def run(self, body: Mapping[str, Any]) -> Schema:
        """Send the statement. Return the schema of its rows."""
        with self._errors():
            connection = self._connection = self._calls.connection()
            if self._is_cancelled:
                raise CancelledError("the query was cancelled")
            self._answer = self._calls.send(connection, "POST", "/v1/sql", body, ARROW)
            self._reader = pa.ipc.open_stream(pa.PythonFile(self._answer, "r"))
        return Schema(tuple(_field(one) for one in self._reader.schema))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> pa.RecordBatch:
        if self._connection is None:
            raise StopIteration
        with self._errors():
            batch, summary = self._next()
        if summary is None:
            return batch
        self.rows_written = summary.get("rows_written")
        self._finish()
        raise StopIteration

    def _next(self) -> tuple[pa.RecordBatch, dict[str, Any] | None]:
        """Return the next batch, and the summary if it is the last one."""
        if self._reader is None:
            raise ExecutionError("the statement does not run", sqlstate="24000")
        try:
            batch, metadata = self._reader.read_next_batch_with_custom_metadata()
        except StopIteration:
            raise EOFError("the answer was cut off") from None
        given = dict(metadata or {})
        if _ERROR in given:
            raise server_error(**json.loads(given[_ERROR]))
        return batch, json.loads(given[_END]) if _END in given else None

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Convert errors of the connection, and places of the statement's errors."""
        try:
            with errors_at_template(self._text):
                yield
        except (SharkError, http.client.HTTPException, OSError, EOFError, pa.ArrowException) as error:
            self.close()
            if self._is_cancelled:
                raise CancelledError("the query was cancelled") from None
            if isinstance(error, SharkError):
                raise
            raise self._calls.lost(error) from None

    def cancel(self) -> None:
        """End the statement, on the server too: it notices that the connection ends."""
        self._is_cancelled = True
        if self._connection is not None:
            cut(self._connection)

    def _finish(self) -> None:
        """Read the end of the answer, so that the connection can be used again."""
        connection, answer = self._connection, self._answer
        self._connection = self._answer = None
        self._ended(self)
        if connection is not None and answer is not None:
            with contextlib.suppress(http.client.HTTPException, OSError):
                answer.read()
            self._calls.give_back(connection, answer)

    def close(self) -> None:
        """End the statement if it still runs. Idempotent."""
        connection, self._connection = self._connection, None
        self._ended(self)
        if connection is not None:
            cut(connection)
            connection.close()


class HttpNames:
    """Names for completion, as the session's SHOW statements list them."""

    def __init__(self, session: HttpSession) -> None:
        self._session = session
        self._cache = CachedNames()

    def databases(self) -> Sequence[str]:
        return self._names("SHOW DATABASES")

    def tables(self, database: str = "") -> Sequence[str]:
        return self._names(f"SHOW TABLES IN {_quoted(database or self._session.current_database)}")

    def columns(self, table: str) -> Sequence[str]:
        database, _, name = table.replace("`", "").lower().rpartition(".")
        return self._names(f"SHOW COLUMNS IN {_quoted(database or self._session.current_database)}.{_quoted(name)}")

    def functions(self) -> Sequence[str]:
        return self._names("SHOW FUNCTIONS")

    def _names(self, statement: str) -> list[str]:
        return self._cache.names(statement, lambda: [row[0] for row in self._session.sql(statement).fetchall()])


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _field(given: pa.Field[Any]) -> Field:
    """Return the field of a column. Its type is in the metadata, since Arrow has no CHAR, VARCHAR or INTERVAL."""
    try:
        dtype = parse_type((given.metadata or {})[_TYPE].decode(), keep_case=True)
        is_same = to_arrow(dtype) == given.type
    except (LookupError, ParseError):
        is_same = False
    # Names of fields that are not plain are lost in the text of a type, but not in Arrow's.
    return Field(given.name, dtype if is_same else from_arrow(given.type))


def connect_over_http(url: str, keywords: Mapping[str, object]) -> HttpSession:
    """Open a session at `http://…` or `https://…` with settings as keywords, as `sharkpy.connect` takes them."""
    settings = {setting_key(key): setting_text(value) for key, value in keywords.items()}
    return HttpSession(parse_http_url(url), settings)

"""Session on a server: it sends statements, returns rows as Arrow batches in a Result, and lists names."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from sharkpy.base.errors import ExecutionError, ParseError, SharkError
from sharkpy.client.arrow_rows import schema_of
from sharkpy.client.cached_names import CachedNames
from sharkpy.client.remote_calls import RemoteCalls
from sharkpy.client.remote_operation import RemoteOperation
from sharkpy.client.server_url import ServerUrl
from sharkpy.client.statement_texts import is_plan, used_database
from sharkpy.execution.statement import Progress, ProgressListener
from sharkpy.session.result import Result
from sharkpy.thrift.bindings import ttypes
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa

_NEWEST = ttypes.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V10
_OLDEST_IN_COLUMNS = ttypes.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V6


def connect_to(url: ServerUrl, settings: Mapping[str, str] | None = None) -> RemoteSession:
    """Open a session at `url`. Raise LoginError, or ExecutionError if there is no server."""
    return RemoteSession(replace(url, settings={**url.settings, **(settings or {})}))


class RemoteSession:
    """Session of the shell on a server. `sql` is for one thread at a time, `cancel` for any."""

    def __init__(self, url: ServerUrl) -> None:
        self._url = url
        self._calls = RemoteCalls(url)
        self._listeners: list[ProgressListener] = []
        self._operation: RemoteOperation | None = None
        self._lock = threading.Lock()
        self._is_stopped = False
        self.current_database = url.database
        self.log: Callable[[str], None] | None = None
        """Receiver of the server's log lines of each statement, if any."""
        try:
            self._session = self._open()
        except BaseException:
            self._calls.close()
            raise

    def reconnect(self) -> None:
        """Open a new session in the same database, after the server has restarted or has forgotten the old session."""
        self._calls.close()
        self._calls = RemoteCalls(self._url)
        self._session, self._is_stopped = self._open(), False
        if self.current_database != self._url.database:
            self._run(f"USE `{self.current_database}`").close()

    def _open(self) -> Any:
        configuration = {
            "use:database": self._url.database,
            **{f"set:hiveconf:{key}": value for key, value in self._url.settings.items()},
            **{f"set:hivevar:{key}": value for key, value in self._url.hivevars.items()},
        }
        answer = self._calls.call(
            "OpenSession",
            ttypes.TOpenSessionReq(
                client_protocol=_NEWEST,
                username=self._url.user or None,
                password=self._url.password or None,
                configuration=configuration,
            ),
        )
        if answer.serverProtocolVersion < _OLDEST_IN_COLUMNS:
            raise ExecutionError(f"{self._url} speaks a protocol older than Hive 0.13", sqlstate="08004")
        return answer.sessionHandle

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def master(self) -> str:
        return str(self._url)

    def sql(self, text: str) -> Result:
        """Run one statement, or several separated by ";"; return the result of the last one."""
        from sharkpy.sql.grammar.split_statements import split_statements

        statements = split_statements(text)
        if not statements:
            raise ParseError("there is no statement")
        for statement, _ in statements[:-1]:
            self._run(statement).close()
        return self._run(statements[-1][0])

    def _run(self, text: str) -> Result:
        with self._lock:
            self._operation = None
        request = ttypes.TExecuteStatementReq(self._session, text, confOverlay={}, runAsync=True)
        handle = self._calls.call("ExecuteStatement", request).operationHandle
        operation = RemoteOperation(self._calls, handle, lambda: RemoteCalls(self._url), self._url.fetch_rows)
        with self._lock:
            self._operation = operation
        try:
            operation.wait(self._report, self.log)
            schema = schema_of(operation.schema()) if operation.has_rows else Schema(())
        except BaseException:
            operation.close()
            raise
        self.current_database = used_database(text) or self.current_database
        if not operation.has_rows:
            operation.close()
            return Result(schema, rows_written=operation.rows_written)
        return Result(
            schema,
            operation.batches(schema),
            on_close=operation.close,
            on_cancel=operation.cancel,
            is_text=is_plan(text, len(schema)),
        )

    def metadata(self, call: str, request: Any) -> Iterator[tuple[Schema, pa.RecordBatch]]:
        """Rows of a metadata call such as GetTables; `request` gets the session."""
        request.sessionHandle = self._session
        handle = self._calls.call(call, request).operationHandle
        operation = RemoteOperation(self._calls, handle, lambda: RemoteCalls(self._url), self._url.fetch_rows)
        try:
            schema = schema_of(operation.schema())
            for batch in operation.batches(schema):
                yield schema, batch
        finally:
            operation.close()

    def substituted(self, text: str) -> str:
        """Return `text` unchanged: the server replaces its variables."""
        return text

    def cancel(self) -> None:
        """End the running statement; its thread gets CancelledError."""
        with self._lock:
            operation = self._operation
        if operation is not None:
            operation.cancel()

    def take_console(self, console: object) -> None:
        """Do nothing: the server's epochs are not shown."""

    def add_progress_listener(self, listener: ProgressListener) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _report(self, progress: Progress) -> None:
        for listener in list(self._listeners):
            listener(progress)

    def stop(self) -> None:
        """Close the session on the server and the connection. Idempotent."""
        if self._is_stopped:
            return
        self._is_stopped = True
        with contextlib.suppress(SharkError):
            self._calls.call("CloseSession", ttypes.TCloseSessionReq(self._session))
        self._calls.close()


_ANY = "%"
_ESCAPED = str.maketrans({"_": "\\_", "%": "\\%"})


class RemoteNames:
    """Names for completion. A server that refuses the call gives no names, and no error is raised."""

    def __init__(self, session: RemoteSession) -> None:
        self._session = session
        self._cache = CachedNames()

    def databases(self) -> Sequence[str]:
        return self._names("GetSchemas", ttypes.TGetSchemasReq(schemaName=_ANY), "TABLE_SCHEM")

    def tables(self, database: str = "") -> Sequence[str]:
        pattern = (database or self._session.current_database).translate(_ESCAPED)
        return self._names("GetTables", ttypes.TGetTablesReq(schemaName=pattern, tableName=_ANY), "TABLE_NAME", pattern)

    def columns(self, table: str) -> Sequence[str]:
        database, _, name = table.replace("`", "").lower().rpartition(".")
        schema, pattern = (part.translate(_ESCAPED) for part in (database or self._session.current_database, name))
        request = ttypes.TGetColumnsReq(schemaName=schema, tableName=pattern, columnName=_ANY)
        return self._names("GetColumns", request, "COLUMN_NAME", schema, pattern)

    def functions(self) -> Sequence[str]:
        return self._names("GetFunctions", ttypes.TGetFunctionsReq(functionName=_ANY), "FUNCTION_NAME")

    def _names(self, call: str, request: Any, column: str, *key: str) -> list[str]:
        def fetch() -> Iterator[str | None]:
            for schema, batch in self._session.metadata(call, request):
                place = [name.upper() for name in schema.names].index(column)
                yield from batch.column(place).to_pylist()

        return self._cache.names((call, *key), fetch)

"""Calls of HiveServer2: from a message to its call, and from the result to the bytes of the answer.

`CALLS` has the method of each call. A method turns a request, which is a struct of the protocol, into its answer.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

from thrift.Thrift import TApplicationException, TMessageType

from sharkpy.base.errors import ExecutionError, UnsupportedError
from sharkpy.thrift import metadata, row_sets
from sharkpy.thrift.binary_protocol import Protocol
from sharkpy.thrift.bindings import TGetQueryIdResp, TSetClientInfoResp, arguments_of, result_of, ttypes
from sharkpy.thrift.operation import ENDED, LOG_SCHEMA, Operation, log_batch, split_rows
from sharkpy.thrift.pages import answer_page
from sharkpy.thrift.sessions import ClientSession
from sharkpy.thrift.status import error_code, error_text, failure, invalid_handle, success

if TYPE_CHECKING:
    from sharkpy.thrift.server import ServerParts
    from sharkpy.thrift.transport.service import Client, PageAnswer

_STRUCT, _BOOL, _STOP = 12, 2, b"\0"

_REQUIRED: dict[str, dict[str, Any]] = {
    "OpenSession": {"serverProtocolVersion": 0},
    "GetInfo": {"infoValue": ttypes.TGetInfoValue(stringValue="")},
    "GetLog": {"log": ""},
}
"""Fields that an answer must have in addition to its status, even the answer of an error."""


def _field(kind: int, number: int) -> bytes:
    return struct.pack(">bh", kind, number)


class CallDispatcher:
    """Dispatcher of messages. An error in a call becomes a status, an unknown call an exception of the protocol."""

    def __init__(self, parts: ServerParts) -> None:
        self._parts = parts
        self._calls = Calls(parts)

    def process(self, request: Any, reply: Any, client: Client) -> None:
        """Answer one message, as `transport.service.Dispatcher` requires."""
        incoming, outgoing = Protocol(request), Protocol(reply)
        name, _, number = incoming.readMessageBegin()
        call = CALLS.get(name)
        start = time.perf_counter()
        if call is None:
            self._parts.metrics.call("unknown", 0.0)
            incoming.skip(_STRUCT)
            incoming.readMessageEnd()
            outgoing.writeMessageBegin(name, TMessageType.EXCEPTION, number)
            TApplicationException(TApplicationException.UNKNOWN_METHOD, f'there is no call "{name}"').write(outgoing)
            outgoing.writeMessageEnd()
            reply.flush()
            return
        arguments = arguments_of(name)()
        arguments.read(incoming)
        incoming.readMessageEnd()
        try:
            answer = call(self._calls, _checked(arguments.req), client)
        except Exception as error:  # noqa: BLE001 - the client gets it as a status
            answer = _failed(name, error)
        self._parts.metrics.call(name, time.perf_counter() - start)
        outgoing.writeMessageBegin(name, TMessageType.REPLY, number)
        if isinstance(answer, RawFetch):
            _write_fetch(outgoing, answer)
        else:
            result_of(name)(success=answer).write(outgoing)
        outgoing.writeMessageEnd()
        reply.flush()

    def vanished(self, client: Client) -> None:
        self._parts.runner.end_for(client)

    def closed(self, client: Client) -> None:
        for session in self._parts.sessions.of_connection(client):
            self._parts.sessions.close_session(session)

    def page(self, path: str, log_in: Callable[[], str]) -> PageAnswer:
        return answer_page(path, self._parts, log_in)


def _checked(request: Any) -> Any:
    if request is None:
        raise ExecutionError("the call has no request", sqlstate="08P01")
    return request


def _failed(name: str, error: Exception) -> Any:
    status = failed_status(error)
    if name == "GetQueryId":
        return TGetQueryIdResp(queryId="")
    response = result_of(name).thrift_spec[0][3][0]
    required = _REQUIRED.get(name, {})
    return response(status=status, **required)


def _write_fetch(protocol: Any, answer: RawFetch) -> None:
    """Write the result's struct around the bytes of the row set, without decoding and encoding these again."""
    write = protocol.trans.write
    write(_field(_STRUCT, 0) + _field(_STRUCT, 1))
    success().write(protocol)
    write(_field(_BOOL, 2) + (b"\1" if answer.has_more else b"\0") + _field(_STRUCT, 3))
    write(answer.row_set)
    write(_STOP + _STOP)


Call = Callable[["Calls", Any, "Client"], Any]
_MOST_ROWS = 1_000_000
_LOG_ROWS = 10_000
_ANSWER_BYTES = 16_000_000
"""Limit on the bytes of an answer with more than one row: Thrift's clients take frames of 16,384,000 bytes."""
_FETCH_FIRST = ttypes.TFetchOrientation.FETCH_FIRST
_FORWARD = (ttypes.TFetchOrientation.FETCH_NEXT, _FETCH_FIRST)
_LOG = 1
"""The fetchType of FetchResults that reads the log."""
_Kind = ttypes.TOperationType


class RawFetch:
    """Answer of FetchResults, with its row set as bytes."""

    def __init__(self, row_set: bytes, *, has_more: bool) -> None:
        self.row_set = row_set
        self.has_more = has_more


class Calls:
    def __init__(self, parts: ServerParts) -> None:
        self._sessions = parts.sessions
        self._opener = parts.opener
        self._runner = parts.runner
        self._metrics = parts.metrics
        self._limits = parts.config.limits

    # Sessions

    def open_session(self, request: Any, client: Client) -> Any:
        session = self._opener.open(client, request.username, request.client_protocol or 0, request.configuration or {})
        fetch_size = {"hive.server2.thrift.resultset.default.fetch.size": "1000"}
        return ttypes.TOpenSessionResp(success(), session.protocol, session.handle, fetch_size)

    def close_session(self, request: Any, client: Client) -> Any:
        self._sessions.close_session(self._session(request, client))
        return ttypes.TCloseSessionResp(success())

    def set_client_info(self, request: Any, client: Client) -> Any:
        """Accept information about the client's program. The server does not use it."""
        self._session(request, client)
        return TSetClientInfoResp(status=success())

    def get_info(self, request: Any, client: Client) -> Any:
        session = self._session(request, client)
        return ttypes.TGetInfoResp(success(), metadata.info(request.infoType, session.engine_session))

    def refuse_token(self, request: Any, client: Client) -> Any:  # noqa: ARG002
        raise UnsupportedError("delegation tokens", hint="log in with a password")

    # Operations

    def execute(self, request: Any, client: Client) -> Any:
        session = self._session(request, client)
        operation = self._runner.execute(
            session,
            request.statement or "",
            request.confOverlay or {},
            float(request.queryTimeout or 0),
            None if request.runAsync else client,
        )
        if not request.runAsync:
            try:
                operation.check()
            except BaseException:
                self._sessions.close_operation(operation)
                raise
        return ttypes.TExecuteStatementResp(success(), operation.handle)

    def metadata(self, name: str, kind: int, request: Any, client: Client) -> Operation:
        session = self._session(request, client)
        operation = self._runner.new_operation(session, kind, name)
        try:
            operation.answer(*metadata.answer(name, request, session.engine_session))
        except BaseException:
            self._sessions.close_operation(operation)
            raise
        return operation

    def operation_status(self, request: Any, client: Client) -> Any:
        """Return the state of an operation.

        Wait for its end, but not for long: a cancel on the same connection can only come after this call.
        """
        _, operation = self._operation(request, client)
        operation.wait(self._limits.poll_seconds)
        answer = ttypes.TGetOperationStatusResp(
            status=success(),
            operationState=operation.state,
            taskStatus="[]",
            operationStarted=int(operation.started * 1000),
            operationCompleted=int(operation.completed * 1000) if operation.completed else None,
            hasResultSet=operation.has_rows,
        )
        # JDBC's getUpdateCount takes -1 for a result set, and a missing number for 0.
        answer.numModifiedRows = -1 if operation.has_rows else operation.rows_written
        if request.getProgressUpdate:
            is_over = operation.state in ENDED
            answer.progressUpdateResponse = operation.stages.response(
                operation.started, operation.seconds, is_over=is_over
            )
        if operation.error is not None:
            error = operation.error
            answer.sqlState, answer.errorCode = error.sqlstate, error_code(error)
            answer.errorMessage = error_text(error)
        return answer

    def cancel_operation(self, request: Any, client: Client) -> Any:
        _, operation = self._operation(request, client)
        operation.cancel()
        return ttypes.TCancelOperationResp(success())

    def close_operation(self, request: Any, client: Client) -> Any:
        _, operation = self._operation(request, client)
        self._sessions.close_operation(operation)
        return ttypes.TCloseOperationResp(success())

    def query_id(self, request: Any, client: Client) -> Any:
        _, operation = self._operation(request, client)
        return TGetQueryIdResp(queryId=operation.query_id)

    # Rows

    def result_set_metadata(self, request: Any, client: Client) -> Any:
        session, operation = self._operation(request, client)
        schema = row_sets.table_schema(operation.wait_for_schema(), session.protocol)
        return ttypes.TGetResultSetMetadataResp(success(), schema)

    def fetch(self, request: Any, client: Client) -> RawFetch:
        session, operation = self._operation(request, client)
        if request.orientation not in _FORWARD:
            raise UnsupportedError("reading rows backwards", sqlstate="HYC00")
        is_first = request.orientation == _FETCH_FIRST
        most = min(max(request.maxRows or 0, 1), _MOST_ROWS)
        if request.fetchType == _LOG:
            lines = operation.read_log(min(most, _LOG_ROWS), from_start=is_first)
            row_set = row_sets.encode_row_set([log_batch(lines)], LOG_SCHEMA, 0, session.protocol)
            return RawFetch(row_set, has_more=False)
        schema = operation.wait_for_schema()
        start, batches, has_more = operation.fetch(most, from_start=is_first)
        while True:
            num_rows = sum(batch.num_rows for batch in batches)
            row_set = row_sets.encode_row_set(batches, schema, start, session.protocol)
            if len(row_set) <= _ANSWER_BYTES or num_rows <= 1:
                break
            num_kept = max(1, num_rows * _ANSWER_BYTES * 9 // (10 * len(row_set)))
            batches, rest = split_rows(batches, num_kept)
            operation.give_back(start + num_kept, rest)
            has_more = True
        self._metrics.count("rows_fetched", num_rows)
        return RawFetch(row_set, has_more=has_more)

    def get_log(self, request: Any, client: Client) -> Any:
        _, operation = self._operation(request, client)
        return ttypes.TGetLogResp(success(), "".join(f"{line}\n" for line in operation.read_log(_LOG_ROWS)))

    # Handles

    def _session(self, request: Any, client: Client) -> ClientSession:
        session = self._sessions.session(request.sessionHandle, client)
        if session is None:
            raise InvalidHandleError.of("session")
        return session

    def _operation(self, request: Any, client: Client) -> tuple[ClientSession, Operation]:
        found = self._sessions.operation(request.operationHandle, client)
        if found is None:
            raise InvalidHandleError.of("operation")
        return found


class InvalidHandleError(ExecutionError):
    """Handle that is unknown, forged, closed or another user's."""

    sqlstate = "08003"

    @classmethod
    def of(cls, what: str) -> Self:
        return cls(f"there is no such {what}, or it was closed")


def _metadata(name: str, kind: int) -> Call:
    response = getattr(ttypes, f"T{name}Resp")

    def call(calls: Calls, request: Any, client: Client) -> Any:
        return response(success(), calls.metadata(name, kind, request, client).handle)

    return call


CALLS: Mapping[str, Call] = {
    "OpenSession": Calls.open_session,
    "CloseSession": Calls.close_session,
    "SetClientInfo": Calls.set_client_info,
    "GetInfo": Calls.get_info,
    "ExecuteStatement": Calls.execute,
    "GetTypeInfo": _metadata("GetTypeInfo", _Kind.GET_TYPE_INFO),
    "GetCatalogs": _metadata("GetCatalogs", _Kind.GET_CATALOGS),
    "GetSchemas": _metadata("GetSchemas", _Kind.GET_SCHEMAS),
    "GetTables": _metadata("GetTables", _Kind.GET_TABLES),
    "GetTableTypes": _metadata("GetTableTypes", _Kind.GET_TABLE_TYPES),
    "GetColumns": _metadata("GetColumns", _Kind.GET_COLUMNS),
    "GetFunctions": _metadata("GetFunctions", _Kind.GET_FUNCTIONS),
    "GetPrimaryKeys": _metadata("GetPrimaryKeys", _Kind.UNKNOWN),
    "GetCrossReference": _metadata("GetCrossReference", _Kind.UNKNOWN),
    "GetOperationStatus": Calls.operation_status,
    "CancelOperation": Calls.cancel_operation,
    "CloseOperation": Calls.close_operation,
    "GetResultSetMetadata": Calls.result_set_metadata,
    "FetchResults": Calls.fetch,
    "GetDelegationToken": Calls.refuse_token,
    "CancelDelegationToken": Calls.refuse_token,
    "RenewDelegationToken": Calls.refuse_token,
    "GetLog": Calls.get_log,
    "GetQueryId": Calls.query_id,
}


def failed_status(error: BaseException) -> Any:
    if isinstance(error, InvalidHandleError):
        return invalid_handle(error)
    return failure(error)

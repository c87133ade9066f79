"""Calls as bytes on the wire: every version of the protocol, calls of newer clients, and unknown calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from sharkpy.thrift.bindings import EXTRA_CALLS, TCLIService, arguments_of, result_of, ttypes
from tests.thrift.clients.served import LONG_QUERY, NAMES, ROWS, Served

VERSIONS = range(10)
"""V1 to V10."""
FIRST_WITH_COLUMNS = 5
SUCCESS = ttypes.TStatusCode.SUCCESS_STATUS
_MEMBERS = ("boolVal", "byteVal", "i16Val", "i32Val", "i64Val", "doubleVal", "stringVal", "binaryVal")
FULL = [
    *(
        True,
        127,
        -32767,
        2147483647,
        -9223372036854775807,
        1.5,
        0.1,
        "grün 🦈",
        "varchar",
        "ch",
        b"bytes",
        "2024-02-29",
    ),
    *("2024-02-29 12:34:56.789012", "123456789.125", "[1,2,null]", '{"k":1}', '{"x":1,"y":"z"}'),
]


class Raw:
    """A session of one version over NOSASL."""

    def __init__(self, port: int, version: int, **configuration: str) -> None:
        self.transport = TBufferedTransport(TSocket("127.0.0.1", port))
        self.transport.open()
        self.protocol = TBinaryProtocolAccelerated(self.transport, fallback=False)
        self.client = TCLIService.Client(self.protocol)
        opened = self.client.OpenSession(ttypes.TOpenSessionReq(version, configuration=configuration))
        assert opened.status.statusCode == SUCCESS
        self.version = opened.serverProtocolVersion
        self.session = opened.sessionHandle

    def execute(self, sql: str, **options: Any) -> Any:
        answer = self.client.ExecuteStatement(ttypes.TExecuteStatementReq(self.session, sql, **options))
        assert answer.status.statusCode == SUCCESS, answer.status.errorMessage
        return answer.operationHandle

    def fetch(self, handle: Any, most: int = 100, orientation: int = 0) -> Any:
        return self.client.FetchResults(ttypes.TFetchResultsReq(handle, orientation, most))

    def rows(self, handle: Any) -> list[list[Any]]:
        answer = self.fetch(handle)
        assert answer.status.statusCode == SUCCESS, answer.status.errorMessage
        results = answer.results
        if self.version < FIRST_WITH_COLUMNS:
            assert results.columns is None
            return [[_cell(value) for value in row.colVals] for row in results.rows]
        assert not results.rows
        return [list(row) for row in zip(*map(_column, results.columns), strict=True)]

    def call(self, name: str, request: Any, answer: Any) -> Any:
        """One call that the client's code does not have: its answer read into `answer`."""
        self.protocol.writeMessageBegin(name, TMessageType.CALL, 7)
        request.write(self.protocol)
        self.protocol.writeMessageEnd()
        self.transport.flush()
        told, kind, number = self.protocol.readMessageBegin()
        assert (told, number) == (name, 7)
        if kind == TMessageType.EXCEPTION:
            error = TApplicationException()
            error.read(self.protocol)
            self.protocol.readMessageEnd()
            raise error
        answer.read(self.protocol)
        self.protocol.readMessageEnd()
        return answer.success


def _cell(value: Any) -> Any:
    return next(found for member in _MEMBERS[:-1] if (found := getattr(value, member)) is not None).value


def _column(column: Any) -> list[Any]:
    part = next(found for member in _MEMBERS if (found := getattr(column, member)) is not None)
    is_null = [bool(byte >> bit & 1) for byte in part.nulls for bit in range(8)] + [False] * len(part.values)
    return [None if missing else value for value, missing in zip(part.values, is_null, strict=False)]


@contextlib.contextmanager
def opened(port: int, version: int = 9, **configuration: str) -> Iterator[Raw]:
    raw = Raw(port, version, **configuration)
    try:
        yield raw
    finally:
        raw.transport.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_gets_every_type(port: int, version: int) -> None:
    with opened(port, version) as raw:
        assert raw.version == version
        handle = raw.execute("SELECT * FROM every ORDER BY b NULLS LAST")
        described = raw.client.GetResultSetMetadata(ttypes.TGetResultSetMetadataReq(handle)).schema.columns
        assert [column.columnName for column in described] == NAMES
        has_columns = version >= FIRST_WITH_COLUMNS
        expected = [value.decode() if isinstance(value, bytes) and not has_columns else value for value in FULL]
        assert raw.rows(handle) == [expected, [None] * len(NAMES)]
        assert raw.rows(handle) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_gets_types_that_are_never_stored(port: int, version: int) -> None:
    with opened(port, version) as raw:
        handle = raw.execute(
            "SELECT NULL, INTERVAL '1-2' YEAR TO MONTH, INTERVAL '3' DAY, true, CAST(1 AS DECIMAL(3,1))"
        )
        assert raw.rows(handle) == [[None, "1-2", "3 00:00:00.000000000", True, "1.0"]]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_gets_metadata_and_logs(port: int, version: int) -> None:
    with opened(port, version) as raw:
        tables = raw.client.GetTables(ttypes.TGetTablesReq(raw.session, schemaName="other", tableName="%"))
        assert [row[1:4] for row in raw.rows(tables.operationHandle)] == [["other", "elsewhere", "TABLE"]]
        handle = raw.execute("SELECT 1")
        log = raw.client.FetchResults(ttypes.TFetchResultsReq(handle, 0, 100, fetchType=1)).results
        lines = [_cell(row.colVals[0]) for row in log.rows] if log.columns is None else _column(log.columns[0])
        assert any("Compiling command" in line for line in lines)


@pytest.mark.parametrize(("asked", "answered"), [(0xA5, 9), (11, 9), (None, 9)])
def test_a_version_that_nobody_has_is_answered_by_the_nearest(port: int, asked: int | None, answered: int) -> None:
    with opened(port, asked) as raw:  # type: ignore[arg-type]
        assert raw.version == answered
        assert raw.rows(raw.execute("SELECT 1")) == [[1]]


@pytest.mark.parametrize("version", [2, 9])
def test_rows_are_read_again_from_the_first(port: int, version: int) -> None:
    with opened(port, version) as raw:
        handle = raw.execute("SELECT n FROM numbers WHERE n < 30 ORDER BY n")
        assert [len(_rows(raw.fetch(handle, 20))) for _ in range(3)] == [20, 10, 0]
        again = raw.fetch(handle, 20, ttypes.TFetchOrientation.FETCH_FIRST)
        assert _rows(again)[0] == 0
        assert again.results.startRowOffset == 0
        assert raw.fetch(handle, 20).results.startRowOffset == 20
        backwards = raw.fetch(handle, 20, ttypes.TFetchOrientation.FETCH_PRIOR)
        assert backwards.status.statusCode == ttypes.TStatusCode.ERROR_STATUS
        assert "backwards" in backwards.status.errorMessage


def _rows(answer: Any) -> list[Any]:
    assert answer.status.statusCode == SUCCESS, answer.status.errorMessage
    results = answer.results
    return [_cell(row.colVals[0]) for row in results.rows] if results.columns is None else _column(results.columns[0])


def test_set_client_info_and_query_id(port: int) -> None:
    with opened(port) as raw:
        given = arguments_of("SetClientInfo")(
            req=EXTRA_CALLS["SetClientInfo"][0](sessionHandle=raw.session, configuration={"ApplicationName": "Löwe"})
        )
        answer = raw.call("SetClientInfo", given, result_of("SetClientInfo")())
        assert answer.status.statusCode == SUCCESS
        handle = raw.execute("SELECT 1")
        asked = arguments_of("GetQueryId")(req=EXTRA_CALLS["GetQueryId"][0](operationHandle=handle))
        query_id = raw.call("GetQueryId", asked, result_of("GetQueryId")()).queryId
        log = raw.client.FetchResults(ttypes.TFetchResultsReq(handle, 0, 100, fetchType=1)).results
        assert query_id
        assert query_id in _column(log.columns[0])[0]


class _Unknown:
    """A request that no protocol has: nested structs, all kinds, bytes that are not text."""

    def write(self, protocol: Any) -> None:
        protocol.writeFieldBegin("handle", TType.STRUCT, 1)
        protocol.writeFieldBegin("guid", TType.STRING, 1)
        protocol.writeBinary(bytes(range(256)))
        protocol.writeFieldBegin("list", TType.LIST, 900)
        protocol.writeListBegin(TType.I64, 3)
        for number in range(3):
            protocol.writeI64(number)
        protocol.writeFieldBegin("map", TType.MAP, -5)
        protocol.writeMapBegin(TType.STRING, TType.BOOL, 1)
        protocol.writeBinary(b"\xff\xfe")
        protocol.writeBool(True)
        protocol.writeFieldStop()
        protocol.writeFieldStop()


@pytest.mark.parametrize(
    "name", ["CloseImpalaOperation", "PingImpalaHS2Service", "UploadData", "", "GetTables2", "é" * 99]
)
def test_unknown_calls_are_answered_and_the_connection_lives(served: Served, name: str) -> None:
    with opened(served.port) as raw:
        for _ in range(2):
            with pytest.raises(TApplicationException) as caught:
                raw.call(name, _Unknown(), None)
            assert caught.value.type == TApplicationException.UNKNOWN_METHOD
        assert raw.rows(raw.execute("SELECT 1")) == [[1]]


def test_calls_without_a_request_or_with_fields_of_the_future(port: int) -> None:
    with opened(port) as raw:
        for name in ("ExecuteStatement", "GetInfo", "FetchResults", "CloseSession", "GetTables"):
            answer = raw.call(name, _Unknown(), result_of(name)())
            assert answer.status.statusCode != SUCCESS
        assert raw.rows(raw.execute("SELECT 1")) == [[1]]


def test_handles_of_nobody_are_invalid(port: int) -> None:
    with opened(port) as raw, opened(port) as other:
        handle = raw.execute("SELECT 1")
        invented = ttypes.TOperationHandle(
            ttypes.THandleIdentifier(guid=b"\0" * 16, secret=b"\1" * 16), 0, hasResultSet=True
        )
        wrong_secret = ttypes.TOperationHandle(
            ttypes.THandleIdentifier(guid=handle.operationId.guid, secret=b"\1" * 16), 0, hasResultSet=True
        )
        for forged in (invented, wrong_secret):
            assert other.fetch(forged).status.statusCode == ttypes.TStatusCode.INVALID_HANDLE_STATUS
        other.session = ttypes.TSessionHandle(ttypes.THandleIdentifier(guid=b"x", secret=b""))
        answer = other.client.ExecuteStatement(ttypes.TExecuteStatementReq(other.session, "SELECT 1"))
        assert answer.status.statusCode == ttypes.TStatusCode.INVALID_HANDLE_STATUS
        assert raw.rows(handle) == [[1]]


def test_a_closed_operation_and_a_closed_session_are_gone(port: int) -> None:
    with opened(port) as raw:
        handle = raw.execute("SELECT n FROM numbers")
        assert raw.client.CloseOperation(ttypes.TCloseOperationReq(handle)).status.statusCode == SUCCESS
        assert raw.fetch(handle).status.statusCode == ttypes.TStatusCode.INVALID_HANDLE_STATUS
        kept = raw.execute("SELECT 1")
        assert raw.client.CloseSession(ttypes.TCloseSessionReq(raw.session)).status.statusCode == SUCCESS
        assert raw.fetch(kept).status.statusCode == ttypes.TStatusCode.INVALID_HANDLE_STATUS


def test_every_kind_of_information_is_answered(port: int) -> None:
    with opened(port) as raw:
        for kind in (*ttypes.TGetInfoType._VALUES_TO_NAMES, 99_999):
            answer = raw.client.GetInfo(ttypes.TGetInfoReq(raw.session, kind))
            assert answer.infoValue is not None
        name = raw.client.GetInfo(ttypes.TGetInfoReq(raw.session, ttypes.TGetInfoType.CLI_DBMS_NAME)).infoValue
        assert name.stringValue == "Apache Hive"


def test_delegation_tokens_are_refused_politely(port: int) -> None:
    with opened(port) as raw:
        answer = raw.client.GetDelegationToken(ttypes.TGetDelegationTokenReq(raw.session, "owner", "renewer"))
        assert answer.status.statusCode == ttypes.TStatusCode.ERROR_STATUS
        assert "delegation tokens" in answer.status.errorMessage


def test_timeout_of_a_statement_is_kept(port: int) -> None:
    with opened(port) as raw:
        handle = raw.execute(LONG_QUERY, runAsync=True, queryTimeout=1)
        state = ttypes.TOperationState.RUNNING_STATE
        while state in (ttypes.TOperationState.PENDING_STATE, ttypes.TOperationState.RUNNING_STATE):
            status = raw.client.GetOperationStatus(ttypes.TGetOperationStatusReq(handle))
            state = status.operationState
        assert state == ttypes.TOperationState.TIMEDOUT_STATE
        assert "1" in status.errorMessage


def test_statements_tell_how_many_rows_they_wrote_or_changed(port: int) -> None:
    with opened(port) as raw:
        for sql, count in (
            ("CREATE TABLE counted (k INT) PARTITIONED BY (p STRING)", None),
            ("INSERT INTO counted PARTITION (p = 'a') SELECT n FROM numbers WHERE n < 30", 30),
            ("INSERT OVERWRITE TABLE counted PARTITION (p) SELECT n, 'b' || n % 3 FROM numbers WHERE n < 40", 40),
            ("CREATE TABLE counted_cached AS SELECT * FROM counted", 70),
            ("INSERT INTO counted_cached SELECT * FROM counted WHERE k < 0", 0),
            ("INSERT INTO counted_cached SELECT * FROM counted WHERE k = 1", 2),
            ("UPDATE counted_cached SET p = 'c' WHERE k < 2", 6),
            ("DELETE FROM counted WHERE k = 1", 2),
            ("MERGE INTO counted c USING numbers n ON c.k = n.n AND n = 2 WHEN MATCHED THEN UPDATE SET k = 99", 2),
            ("DELETE FROM counted WHERE k = 1", 0),
            ("SELECT * FROM counted_cached", -1),
            ("DROP TABLE counted_cached", None),
            ("DROP TABLE counted", None),
        ):
            status = raw.client.GetOperationStatus(ttypes.TGetOperationStatusReq(raw.execute(sql)))
            assert status.numModifiedRows == count, sql


def test_a_large_answer(port: int) -> None:
    with opened(port) as raw:
        handle = raw.execute("SELECT n FROM numbers")
        seen = 0
        while rows := _rows(raw.fetch(handle, 1_000_000)):
            seen += len(rows)
        assert seen == ROWS

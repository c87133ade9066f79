"""Types and values as Spark's own Thrift server sends them, in every version of the protocol."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from sharkpy.thrift.bindings import TCLIService, ttypes
from sharkpy.thrift.row_sets import encode_row_set, table_schema
from sharkpy.thrift.row_sets.type_descriptions import INTERVALS_SINCE
from sharkpy.values import types as t
from tests.thrift import spark_server
from tests.thrift.row_sets import expected

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.oracle, pytest.mark.timeout(300)]

TIMES = [datetime.datetime(2024, 1, 2, 3, 4, 5), None, datetime.datetime(1969, 12, 31, 23, 59, 59, 120_000)]
COLUMNS: tuple[tuple[t.DataType, str, list[Any]], ...] = (
    (t.NULL, "(null), (null), (null)", [None, None, None]),
    (t.BOOLEAN, "(true), (null), (false)", [True, None, False]),
    (t.TINYINT, "(-128y), (null), (127y)", [-128, None, 127]),
    (t.SMALLINT, "(-300s), (null), (32767s)", [-300, None, 32767]),
    (t.INT, "(-5), (null), (70000)", [-5, None, 70_000]),
    (t.BIGINT, "(-5l), (null), (1099511627776l)", [-5, None, 1 << 40]),
    (t.FLOAT, "(0.1f), (null), (-1234.56f)", [0.1, None, -1234.56]),
    (t.FLOAT, "(float('NaN')), (null), (float('-Infinity'))", [float("nan"), None, float("-inf")]),
    (t.DOUBLE, "(0.1d), (null), (double('Infinity'))", [0.1, None, float("inf")]),
    (t.STRING, "('grün 🦈'), (null), ('')", ["grün 🦈", None, ""]),
    (t.BINARY, "(X'00414243'), (null), (X'')", [b"\0ABC", None, b""]),
    (t.DATE, "(date'2024-02-29'), (null), (date'0001-01-01')", [datetime.date(2024, 2, 29), None, datetime.date.min]),
    (t.TIMESTAMP, "(timestamp'2024-01-02 03:04:05'), (null), (timestamp'1969-12-31 23:59:59.12')", TIMES),
    (t.DecimalType(9, 2), "(-0.1bd), (null), (1234567.89bd)", [Decimal("-0.1"), None, Decimal("1234567.89")]),
    (t.DecimalType(38, 12), "(1e-12bd), (null), (-10.5bd)", [Decimal("1e-12"), None, Decimal("-10.5")]),
    (t.INTERVAL_YEAR_MONTH, "(interval '1-2' year to month), (null), (interval '-2-1' year to month)", [14, None, -25]),
    (
        t.INTERVAL_DAY_TIME,
        "(interval '0 00:00:01.5' day to second), (null), (interval '-1 00:00:00' day to second)",
        [1_500_000, None, -86_400_000_000],
    ),
    (t.ArrayType(t.INT), "(array(1, null)), (null), (cast(array() as array<int>))", [[1, None], None, []]),
    (t.MapType(t.STRING, t.INT), "(map('k', 1)), (null), (map('k', null))", [[("k", 1)], None, [("k", None)]]),
    (
        t.StructType(("a", "b"), (t.STRING, t.INT)),
        "(named_struct('a', 'x', 'b', 1)), (null), (named_struct('a', null, 'b', null))",
        [{"a": "x", "b": 1}, None, {"a": None, "b": None}],
    ),
)


@pytest.fixture(scope="module")
def server() -> Iterator[spark_server.SparkServer]:
    with spark_server.start("local[1]", auth="NOSASL") as started:
        yield started


@pytest.fixture(params=range(10), ids=lambda version: f"V{version + 1}")
def client(server: spark_server.SparkServer, request: pytest.FixtureRequest) -> Iterator[tuple[Any, Any, int]]:
    """A client, its session, and the protocol's number."""
    transport = TBufferedTransport(TSocket(server.host, server.port))
    transport.open()
    stub = TCLIService.Client(TBinaryProtocolAccelerated(transport))
    opened = stub.OpenSession(ttypes.TOpenSessionReq(request.param, "tester", ""))
    assert opened.serverProtocolVersion == request.param
    yield stub, opened.sessionHandle, request.param
    stub.CloseSession(ttypes.TCloseSessionReq(opened.sessionHandle))
    transport.close()


def test_types_and_values(client: tuple[Any, Any, int]) -> None:
    stub, session, version = client
    for dtype, values_sql, values in COLUMNS:
        wanted = f"cast(c0 as {dtype}) as c0" if isinstance(dtype, t.DecimalType) else "c0"
        described, rows = _ask(stub, session, f"select {wanted} from values {values_sql} as v(c0)")
        schema = expected.schema_of(dtype)
        if not t.is_interval(dtype) or version >= INTERVALS_SINCE:  # Spark sends ids that older versions lack
            assert _types(table_schema(schema, version)) == _types(described), dtype
        content = encode_row_set([expected.batch_of((dtype, values))], schema, 0, version)
        assert _values(expected.read(content), version) == _values(rows, version), dtype


def _ask(stub: Any, session: Any, sql: str) -> tuple[Any, Any]:
    ran = stub.ExecuteStatement(ttypes.TExecuteStatementReq(session, sql))
    assert ran.status.statusCode == ttypes.TStatusCode.SUCCESS_STATUS, ran.status.errorMessage
    described = stub.GetResultSetMetadata(ttypes.TGetResultSetMetadataReq(ran.operationHandle)).schema
    fetched = stub.FetchResults(ttypes.TFetchResultsReq(ran.operationHandle, ttypes.TFetchOrientation.FETCH_NEXT, 10))
    stub.CloseOperation(ttypes.TCloseOperationReq(ran.operationHandle))
    return described, fetched.results


def _types(schema: Any) -> list[Any]:
    """Positions are left out: Spark counts them from 0, Hive from 1."""
    found = []
    for column in schema.columns:
        (entry,) = column.typeDesc.types
        sizes = entry.primitiveEntry.typeQualifiers
        found.append((column.columnName, entry.primitiveEntry.type, sizes.qualifiers if sizes else {}))
    return found


def _values(row_set: Any, version: int) -> str:
    """Values in a form in which NaN equals NaN; the placeholder of a NULL is left out."""
    if version < 5:
        return repr(row_set.rows)
    column = next(one for one in vars(row_set.columns[0]).values() if one is not None)
    nulls = int.from_bytes(column.nulls, "little")
    values = [None if nulls >> place & 1 else value for place, value in enumerate(column.values)]
    return repr((type(column), column.nulls, values))

"""Metadata calls have the columns, and their types, that Spark's own Thrift server sends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sharkpy
from sharkpy.thrift import metadata
from sharkpy.thrift.bindings import ttypes
from tests.thrift import spark_server
from tests.thrift.metadata.test_metadata import TYPES

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.oracle, pytest.mark.timeout(300)]

CALLS = {
    "GetTypeInfo": {},
    "GetCatalogs": {},
    "GetSchemas": {},
    "GetTables": {"schemaName": "%", "tableName": "%"},
    "GetTableTypes": {},
    "GetColumns": {"schemaName": "default", "tableName": "every"},
    "GetFunctions": {"functionName": "upper"},
}
_MEMBERS = ("boolVal", "byteVal", "i16Val", "i32Val", "i64Val", "doubleVal", "stringVal", "binaryVal")


class Oracle:
    """Metadata calls over a PyHive connection to Spark's server."""

    def __init__(self, connection: Any) -> None:
        self._client, self._session = connection.client, connection._sessionHandle

    def ask(self, call: str, **arguments: Any) -> tuple[list[tuple[str, str]], list[dict[str, Any]]]:
        """Names and types of the columns, and the rows."""
        request = getattr(ttypes, f"T{call}Req")(self._session, **arguments)
        operation = getattr(self._client, call)(request).operationHandle
        described = self._client.GetResultSetMetadata(ttypes.TGetResultSetMetadataReq(operation)).schema.columns
        columns = [
            (one.columnName, ttypes.TTypeId._VALUES_TO_NAMES[one.typeDesc.types[0].primitiveEntry.type])
            for one in described
        ]
        sent = self._client.FetchResults(ttypes.TFetchResultsReq(operation, 0, 10_000)).results.columns
        values = [_values(column) for column in sent]
        return columns, [
            {name: row[index] for index, (name, _) in enumerate(columns)} for row in zip(*values, strict=True)
        ]


def _values(column: Any) -> list[Any]:
    part = next(found for member in _MEMBERS if (found := getattr(column, member)) is not None)
    is_null = [bool(byte >> bit & 1) for byte in part.nulls for bit in range(8)]
    is_null += [False] * (len(part.values) - len(is_null))
    return [None if missing else value for value, missing in zip(part.values, is_null, strict=False)]


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with spark_server.start() as server:
        server_connection = server.connect()
        cursor = server_connection.cursor()
        cursor.execute(f"CREATE TABLE every ({TYPES}, ds STRING) USING parquet PARTITIONED BY (ds)")
        cursor.execute("CREATE VIEW seen AS SELECT c, g FROM every")
        yield Oracle(server_connection)
        server_connection.close()


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("oracle") / "w") as session:
        session.sql(f"CREATE TABLE every ({TYPES}) PARTITIONED BY (ds STRING)")
        session.sql("CREATE VIEW seen AS SELECT c, g FROM every")
        yield session


def ours(session: sharkpy.SharkContext, call: str) -> tuple[list[tuple[str, str]], list[dict[str, Any]]]:
    schema, table = metadata.answer(call, getattr(ttypes, f"T{call}Req")(**CALLS[call]), session)
    return [(field.name, f"{field.dtype}_type".upper()) for field in schema], table.to_pylist()


@pytest.mark.parametrize("call", CALLS)
def test_columns_and_their_types(oracle: Oracle, session: sharkpy.SharkContext, call: str) -> None:
    assert ours(session, call)[0] == oracle.ask(call, **CALLS[call])[0]


def test_types_have_the_same_numbers(oracle: Oracle, session: sharkpy.SharkContext) -> None:
    wanted = ("TYPE_NAME", "DATA_TYPE", "NULLABLE", "UNSIGNED_ATTRIBUTE", "NUM_PREC_RADIX")
    expected = {tuple(row[name] for name in wanted) for row in oracle.ask("GetTypeInfo")[1]}
    assert {tuple(row[name] for name in wanted) for row in ours(session, "GetTypeInfo")[1]} == expected


def test_tables_are_told_alike(oracle: Oracle, session: sharkpy.SharkContext) -> None:
    assert ours(session, "GetTables")[1] == oracle.ask("GetTables", **CALLS["GetTables"])[1]


def test_table_columns_are_told_alike(oracle: Oracle, session: sharkpy.SharkContext) -> None:
    """Sizes aside: Spark reports bytes in memory; JDBC asks for digits and characters."""
    wanted = ("TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME", "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "NUM_PREC_RADIX")
    wanted += ("NULLABLE", "REMARKS", "ORDINAL_POSITION", "IS_NULLABLE", "IS_AUTO_INCREMENT")
    told = [{name: row[name] for name in wanted} for row in oracle.ask("GetColumns", **CALLS["GetColumns"])[1]]
    for row in told:
        row["TYPE_NAME"] = row["TYPE_NAME"].replace(", ", ",").replace(": ", ":")
    assert [{name: row[name] for name in wanted} for row in ours(session, "GetColumns")[1]] == _upper_types(told)


def _upper_types(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "TYPE_NAME": row["TYPE_NAME"].upper()} for row in rows]

"""Metadata calls in a session, with no server: columns, rows, patterns, speed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.model import Table, TableKind
from sharkpy.thrift import metadata
from sharkpy.thrift.bindings import ttypes
from sharkpy.thrift.metadata.server_info import FACTS, ODBC_KEYWORDS
from sharkpy.values.types import BIGINT, DATE, STRING, DecimalType, Field, MapType, Schema
from tests.waiting import allowed

TYPES = (
    "a TINYINT, b SMALLINT, c INT COMMENT 'a c', d BIGINT, e FLOAT, f DOUBLE, g DECIMAL(12,3), h STRING, "
    "i VARCHAR(7), j CHAR(4), k BOOLEAN, l BINARY, m DATE, n TIMESTAMP, o ARRAY<INT>, p MAP<STRING,INT>, "
    "q STRUCT<x:INT,y:STRING>"
)
SETUP = f"""
    CREATE TABLE every ({TYPES}) COMMENT 'all types' PARTITIONED BY (ds STRING);
    CREATE EXTERNAL TABLE outside (x INT) LOCATION '/proc/nowhere';
    CREATE VIEW seen AS SELECT c, g FROM every;
    CREATE TEMPORARY TABLE passing (x INT);
    CREATE TEMPORARY VIEW glimpse AS SELECT 1 AS one;
    CREATE DATABASE other;
    CREATE TABLE other.under_score (x INT);
    CREATE TABLE other.underxscore (x INT)
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("metadata") / "w") as session:
        session.sql(SETUP)
        yield session


def ask(session: sharkpy.SharkContext, call: str, **arguments: Any) -> list[dict[str, Any]]:
    request = getattr(ttypes, f"T{call}Req")(**arguments)
    schema, table = metadata.answer(call, request, session)
    assert table.column_names == list(schema.names)
    return list(table.to_pylist())


def names(session: sharkpy.SharkContext, **arguments: Any) -> list[str]:
    return [f"{row['TABLE_SCHEM']}.{row['TABLE_NAME']}" for row in ask(session, "GetTables", **arguments)]


def test_tables_and_views_with_temporary_ones(session: sharkpy.SharkContext) -> None:
    rows = ask(session, "GetTables", schemaName="default")
    assert [(row["TABLE_NAME"], row["TABLE_TYPE"], row["REMARKS"]) for row in rows] == [
        ("every", "TABLE", "all types"),
        ("glimpse", "VIEW", ""),
        ("outside", "TABLE", ""),
        ("passing", "TABLE", ""),
        ("seen", "VIEW", ""),
    ]
    assert {(row["TABLE_CAT"], row["TABLE_SCHEM"], row["REF_GENERATION"]) for row in rows} == {("", "default", None)}


def test_another_sessions_temporary_tables_are_not_there(session: sharkpy.SharkContext) -> None:
    other = session.new_session()
    assert names(other, schemaName="default") == ["default.every", "default.outside", "default.seen"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (["TABLE"], {"every": "TABLE", "outside": "TABLE", "passing": "TABLE"}),
        (["view"], {"seen": "VIEW", "glimpse": "VIEW"}),
        (["MANAGED_TABLE"], {"every": "MANAGED_TABLE", "passing": "MANAGED_TABLE"}),
        (
            ["EXTERNAL_TABLE", "VIRTUAL_VIEW"],
            {"outside": "EXTERNAL_TABLE", "seen": "VIRTUAL_VIEW", "glimpse": "VIRTUAL_VIEW"},
        ),
        (["TABLE", "EXTERNAL_TABLE"], {"every": "TABLE", "outside": "TABLE", "passing": "TABLE"}),
        (["LOCAL TEMPORARY"], {"passing": "LOCAL TEMPORARY", "glimpse": "LOCAL TEMPORARY"}),
        (["SYSTEM TABLE"], {}),
    ],
)
def test_tables_of_types(session: sharkpy.SharkContext, asked: list[str], expected: dict[str, str]) -> None:
    rows = ask(session, "GetTables", schemaName="default", tableTypes=asked)
    assert {row["TABLE_NAME"]: row["TABLE_TYPE"] for row in rows} == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("under_score", ["under_score", "underxscore"]),
        (r"under\_score", ["under_score"]),
        ("UNDER%", ["under_score", "underxscore"]),
        ("under.*", ["under_score", "underxscore"]),
        ("*x*", ["underxscore"]),
        ("underxscore|nothing", ["underxscore"]),
        ("", ["under_score", "underxscore"]),
        (None, ["under_score", "underxscore"]),
        ("under", []),
        ("under[_x]score", []),
    ],
)
def test_patterns(session: sharkpy.SharkContext, pattern: str | None, expected: list[str]) -> None:
    found = ask(session, "GetTables", schemaName="oth%", tableName=pattern)
    assert [row["TABLE_NAME"] for row in found] == expected


def test_schemas(session: sharkpy.SharkContext) -> None:
    assert ask(session, "GetSchemas") == [
        {"TABLE_SCHEM": "default", "TABLE_CATALOG": ""},
        {"TABLE_SCHEM": "other", "TABLE_CATALOG": ""},
    ]
    assert [row["TABLE_SCHEM"] for row in ask(session, "GetSchemas", schemaName="d_fault")] == ["default"]


def test_catalogs_keys_and_references_are_empty_with_their_columns(session: sharkpy.SharkContext) -> None:
    widths = {"GetCatalogs": 1, "GetPrimaryKeys": 6, "GetCrossReference": 14}
    for call, width in widths.items():
        schema, table = metadata.answer(call, getattr(ttypes, f"T{call}Req")(), session)
        assert (len(schema), table.num_rows) == (width, 0)


def test_columns_of_every_type(session: sharkpy.SharkContext) -> None:
    rows = ask(session, "GetColumns", schemaName="default", tableName="every")
    told = [
        (row["COLUMN_NAME"], row["DATA_TYPE"], row["TYPE_NAME"], row["COLUMN_SIZE"], row["DECIMAL_DIGITS"])
        for row in rows
    ]
    assert told == [
        ("a", -6, "TINYINT", 3, 0),
        ("b", 5, "SMALLINT", 5, 0),
        ("c", 4, "INT", 10, 0),
        ("d", -5, "BIGINT", 19, 0),
        ("e", 6, "FLOAT", 7, 7),
        ("f", 8, "DOUBLE", 15, 15),
        ("g", 3, "DECIMAL(12,3)", 12, 3),
        ("h", 12, "STRING", 2147483647, None),
        ("i", 12, "VARCHAR(7)", 7, None),
        ("j", 1, "CHAR(4)", 4, None),
        ("k", 16, "BOOLEAN", 1, None),
        ("l", -2, "BINARY", 2147483647, None),
        ("m", 91, "DATE", 10, 0),
        ("n", 93, "TIMESTAMP", 26, 6),
        ("o", 2003, "ARRAY<INT>", None, None),
        ("p", 2000, "MAP<STRING,INT>", None, None),
        ("q", 2002, "STRUCT<X:INT,Y:STRING>", None, None),
        ("ds", 12, "STRING", 2147483647, None),
    ]
    assert [row["ORDINAL_POSITION"] for row in rows] == list(range(1, 19))
    assert {row["COLUMN_NAME"]: row["REMARKS"] for row in rows}["c"] == "a c"
    assert {(row["NULLABLE"], row["IS_NULLABLE"], row["IS_AUTO_INCREMENT"]) for row in rows} == {(1, "YES", "NO")}


def test_columns_by_pattern_and_of_temporary_views(session: sharkpy.SharkContext) -> None:
    found = ask(session, "GetColumns", tableName="%", columnName="one")
    assert [(row["TABLE_NAME"], row["COLUMN_NAME"], row["TYPE_NAME"]) for row in found] == [("glimpse", "one", "INT")]


def test_a_broken_view_is_told_with_the_others(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as session:
        session.sql("CREATE TABLE t (x INT); CREATE VIEW v AS SELECT x FROM t; DROP TABLE t")
        assert [row["TABLE_NAME"] for row in ask(session, "GetTables")] == ["v"]
        assert [row["COLUMN_NAME"] for row in ask(session, "GetColumns")] == ["x"]


def test_type_info(session: sharkpy.SharkContext) -> None:
    rows = {row["TYPE_NAME"]: row for row in ask(session, "GetTypeInfo")}
    assert len(rows) == 20
    assert (rows["BIGINT"]["DATA_TYPE"], rows["BIGINT"]["PRECISION"], rows["BIGINT"]["NUM_PREC_RADIX"]) == (-5, 19, 10)
    assert (rows["DECIMAL"]["CREATE_PARAMS"], rows["DECIMAL"]["MAXIMUM_SCALE"]) == ("precision,scale", 38)
    assert (rows["STRING"]["CASE_SENSITIVE"], rows["STRING"]["SEARCHABLE"], rows["MAP"]["SEARCHABLE"]) == (True, 3, 0)
    assert [row["UNSIGNED_ATTRIBUTE"] for row in (rows["INT"], rows["DATE"])] == [False, True]


def test_functions_each_once(session: sharkpy.SharkContext) -> None:
    rows = ask(session, "GetFunctions")
    found = [row["FUNCTION_NAME"] for row in rows]
    assert len(found) == len(set(found)) > 200
    kinds = {row["FUNCTION_NAME"]: row["FUNCTION_TYPE"] for row in rows}
    assert (kinds["upper"], kinds["explode"]) == (1, 2)
    assert [row["FUNCTION_NAME"] for row in ask(session, "GetFunctions", functionName="regexp\\_r%")] == [
        "regexp_replace"
    ]
    assert all(row["REMARKS"] for row in ask(session, "GetFunctions", functionName="upper"))


def test_every_info_type_has_exactly_one_value(session: sharkpy.SharkContext) -> None:
    assert set(FACTS) == {*ttypes.TGetInfoType._VALUES_TO_NAMES, ODBC_KEYWORDS}
    for info_type in FACTS:
        value = metadata.info(info_type, session)
        assert sum(given is not None for given in vars(value).values()) == 1


def test_names_that_drivers_look_at(session: sharkpy.SharkContext) -> None:
    kind = ttypes.TGetInfoType
    assert metadata.info(kind.CLI_DBMS_NAME, session).stringValue == "Apache Hive"
    version = metadata.info(kind.CLI_DBMS_VER, session).stringValue
    assert [int(part) for part in version.split(".")[:2]] == [3, 1]
    assert f"sharkpy {sharkpy.__version__}" in version
    assert metadata.info(kind.CLI_USER_NAME, session.new_session(shark_user="ann")).stringValue == "ann"
    assert "TBLPROPERTIES" in metadata.info(ODBC_KEYWORDS, session).stringValue.split(",")
    with pytest.raises(UnsupportedError, match="GetInfo of type 7777"):
        metadata.info(7777, session)


def test_a_thousand_tables_take_no_time(tmp_path: Path) -> None:
    fields = tuple(Field(f"c{i}", dtype) for i, dtype in enumerate([BIGINT, STRING, DATE, DecimalType(9, 2)] * 3))
    schema = Schema((*fields, Field("m", MapType(STRING, BIGINT))))
    with sharkpy.connect("local[2]", tmp_path / "w") as session:
        for number in range(1000):
            table = Table(new_table_id(), "default", f"t{number}", TableKind.MANAGED, schema, location="/none")
            session.catalog.create_table(table)
        ask(session, "GetTables", tableName="nothing")
        tables, columns = ttypes.TGetTablesReq(schemaName="%"), ttypes.TGetColumnsReq(tableName="t1%")
        assert _seconds(lambda: metadata.answer("GetTables", tables, session)) < allowed(0.1)
        assert _seconds(lambda: metadata.answer("GetColumns", columns, session)) < allowed(0.1)
        assert len(ask(session, "GetTables")) == 1000
        assert len(ask(session, "GetColumns")) == 13_000


def _seconds(work: Callable[[], object]) -> float:
    """The best of three times: other work on the machine is not what is measured."""

    def once() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return min(once() for _ in range(3))

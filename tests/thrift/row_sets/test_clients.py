"""Values that clients read from row sets, by the types in their schema."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest
from impala._thrift_gen.TCLIService import ttypes as impala_ttypes
from impala.hiveserver2 import CBatch, RBatch
from pyhive import hive
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TMemoryBuffer

from sharkpy.thrift.bindings import ttypes
from sharkpy.thrift.row_sets import encode_row_set, table_schema
from sharkpy.values import types as t
from tests.thrift.row_sets import expected

V5, V6 = 4, 5

VALUES: dict[t.DataType, list[Any]] = {
    t.NULL: [None, None, None],
    t.BOOLEAN: [True, None, False],
    t.TINYINT: [-128, None, 127],
    t.SMALLINT: [-300, None, 32767],
    t.INT: [-(1 << 31), None, 70_000],
    t.BIGINT: [-(1 << 63), None, 1 << 40],
    t.FLOAT: [0.1, None, 1.5e10],
    t.DOUBLE: [0.1, None, float("inf")],
    t.STRING: ["", None, "grün 🦈"],
    t.VarcharType(20): ["varchar", None, ""],
    t.CharType(3): ["abc", None, "a"],
    t.BINARY: [b"\xff\x00", None, b"abc"],
    t.DATE: [datetime.date(2024, 2, 29), None, datetime.date(1, 1, 1)],
    t.TIMESTAMP: [datetime.datetime(2024, 1, 2, 3, 4, 5), None, datetime.datetime(2024, 1, 2, 3, 4, 50, 120_000)],
    t.DecimalType(9, 2): [Decimal("-0.10"), None, Decimal("1234567.89")],
    t.DecimalType(38, 12): [Decimal("0.000000000001"), None, Decimal("-10.500000000000")],
    t.INTERVAL_YEAR_MONTH: [14, None, -25],
    t.INTERVAL_DAY_TIME: [1, None, -86_400_000_001],
    t.ArrayType(t.INT): [[1, None], None, []],
    t.MapType(t.STRING, t.INT): [[("k", 1)], None, []],
    t.StructType(("a",), (t.DATE,)): [{"a": datetime.date(2024, 1, 2)}, None, {"a": None}],
}
TEXTS: dict[t.DataType, list[Any]] = {
    t.INTERVAL_YEAR_MONTH: ["1-2", None, "-2-1"],
    t.INTERVAL_DAY_TIME: ["0 00:00:00.000001000", None, "-1 00:00:00.000001000"],
    t.ArrayType(t.INT): ["[1,null]", None, "[]"],
    t.MapType(t.STRING, t.INT): ['{"k":1}', None, "{}"],
    t.StructType(("a",), (t.DATE,)): ['{"a":"2024-01-02"}', None, '{"a":null}'],
}
DATES_AS_TEXT: dict[t.DataType, list[Any]] = {t.DATE: ["2024-02-29", None, "0001-01-01"]}
BATCH = expected.batch_of(*VALUES.items())
SCHEMA = expected.schema_of(*VALUES)


def read_slowly(content: bytes, row_set: Any) -> Any:
    """Read as a client without the compiled codec does."""
    row_set.read(TBinaryProtocol(TMemoryBuffer(content)))
    return row_set


@pytest.mark.parametrize("read", [lambda content: expected.read(content), lambda c: read_slowly(c, ttypes.TRowSet())])
def test_pyhive_reads_every_type(read: Any) -> None:
    rows = read(encode_row_set([BATCH], SCHEMA, 0, V6))
    described = expected.read(expected.written(table_schema(SCHEMA, V6)), ttypes.TTableSchema)
    names = [one.typeDesc.types[0].primitiveEntry.type for one in described.columns]
    got = [
        hive._unwrap_column(column, ttypes.TTypeId._VALUES_TO_NAMES[name])
        for column, name in zip(rows.columns, names, strict=True)
    ]
    assert got == [*(VALUES | TEXTS | DATES_AS_TEXT).values()]


@pytest.mark.parametrize("num_rows", [1, 7, 8, 9, 200])
def test_clients_read_nulls_of_any_number_of_rows(num_rows: int) -> None:
    values = [None if place % 3 == 2 else place for place in range(num_rows)]
    schema = expected.schema_of(t.INT)
    content = encode_row_set([expected.batch_of((t.INT, values))], schema, 0, V6)
    assert hive._unwrap_column(expected.read(content).columns[0]) == values
    batch = CBatch(expected.read(content, impala_ttypes.TRowSet), True, _impyla_schema(schema))
    assert [one for (one,) in batch.pop_many(num_rows)] == values


def test_impyla_reads_every_type_by_columns() -> None:
    content = encode_row_set([BATCH], SCHEMA, 0, V6)
    batch = CBatch(expected.read(content, impala_ttypes.TRowSet), True, _impyla_schema(SCHEMA))
    got = dict(zip(VALUES, zip(*batch.pop_many(3), strict=True), strict=True))
    as_text = TEXTS | {t.ArrayType(t.INT): [b"[1,null]", None, b"[]"]}
    assert got == {dtype: tuple(values) for dtype, values in (VALUES | as_text).items()}


def test_impyla_reads_every_type_by_rows() -> None:
    dtypes = [dtype for dtype in VALUES if dtype != t.BINARY]
    schema = expected.schema_of(*dtypes)
    batch = expected.batch_of(*((dtype, VALUES[dtype]) for dtype in dtypes))
    rows = RBatch(
        expected.read(encode_row_set([batch], schema, 0, V5), impala_ttypes.TRowSet), True, _impyla_schema(schema)
    )
    columns = dict(zip(dtypes, map(list, zip(*rows.pop_many(3), strict=True)), strict=True))
    assert columns == {dtype: (VALUES | TEXTS | DATES_AS_TEXT)[dtype] for dtype in dtypes}


def _impyla_schema(schema: t.Schema) -> list[tuple[Any, ...]]:
    """Schema as impyla's `get_result_schema` makes it from the answer of GetResultSetMetadata."""
    content = expected.written(table_schema(schema, V6))
    columns = []
    for one in expected.read(content, impala_ttypes.TTableSchema).columns:
        entry = one.typeDesc.types[0].primitiveEntry
        name = impala_ttypes.TTypeId._VALUES_TO_NAMES[entry.type].split("_")[0]
        sizes = entry.typeQualifiers.qualifiers if name == "DECIMAL" else None
        columns.append(
            (one.columnName, name, *((sizes["precision"].i32Value, sizes["scale"].i32Value) if sizes else ()))
        )
    return columns

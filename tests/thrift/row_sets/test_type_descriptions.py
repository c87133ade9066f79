"""Types as TTypeDesc."""

from __future__ import annotations

import pytest

from sharkpy.thrift.bindings import ttypes
from sharkpy.thrift.row_sets import table_schema
from sharkpy.values import types as t
from tests.thrift.row_sets import expected

V7, V8, V10 = 6, 7, 9

IDS = {
    "void": "NULL_TYPE",
    "varchar(20)": "VARCHAR_TYPE",
    "char(3)": "CHAR_TYPE",
    "decimal(9,2)": "DECIMAL_TYPE",
    "decimal(20,0)": "DECIMAL_TYPE",
    "decimal(38,12)": "DECIMAL_TYPE",
    "decimal(38,38)": "DECIMAL_TYPE",
    "array<int>": "ARRAY_TYPE",
    "map<string,double>": "MAP_TYPE",
    "struct<a:string,b:date>": "STRUCT_TYPE",
}


def described(dtype: t.DataType, version: int) -> ttypes.TPrimitiveTypeEntry:
    (column,) = table_schema(expected.schema_of(dtype), version).columns
    (entry,) = column.typeDesc.types
    return entry.primitiveEntry


@pytest.mark.parametrize("dtype", expected.TYPES, ids=str)
def test_every_type_has_its_id(dtype: t.DataType) -> None:
    name = IDS.get(str(dtype), f"{dtype}_type".upper())
    assert described(dtype, V10).type == getattr(ttypes.TTypeId, name)


@pytest.mark.parametrize("dtype", [t.INTERVAL_YEAR_MONTH, t.INTERVAL_DAY_TIME], ids=str)
def test_intervals_are_strings_for_clients_without_their_ids(dtype: t.DataType) -> None:
    assert described(dtype, V7).type == ttypes.TTypeId.STRING_TYPE
    assert described(dtype, V8).type == getattr(ttypes.TTypeId, f"{dtype}_type".upper())


@pytest.mark.parametrize(
    ("dtype", "qualifiers"),
    [
        (t.DecimalType(12, 3), {"precision": 12, "scale": 3}),
        (t.VarcharType(20), {"characterMaximumLength": 20}),
        (t.CharType(3), {"characterMaximumLength": 3}),
    ],
    ids=str,
)
def test_sizes_of_types(dtype: t.DataType, qualifiers: dict[str, int]) -> None:
    given = described(dtype, V10).typeQualifiers.qualifiers
    assert {name: value.i32Value for name, value in given.items()} == qualifiers


def test_no_qualifiers_where_a_type_has_none() -> None:
    assert described(t.STRING, V10).typeQualifiers is None


def test_names_positions_and_comments() -> None:
    schema = t.Schema((t.Field("k", t.INT, "the key"), t.Field("v", t.STRING)))
    columns = table_schema(schema, V10).columns
    assert [(one.columnName, one.position, one.comment) for one in columns] == [("k", 1, "the key"), ("v", 2, None)]


def test_thrifts_codec_takes_the_description() -> None:
    schema = table_schema(expected.schema_of(*expected.TYPES), V10)
    assert expected.read(expected.written(schema), ttypes.TTableSchema) == schema

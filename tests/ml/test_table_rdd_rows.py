"""Rows of a TableRDD: names, types, getters, pickles; made from every Arrow type."""

from __future__ import annotations

import copy
import datetime
import pickle
from decimal import Decimal
from typing import Any

import cloudpickle
import pyarrow as pa
import pytest

from sharkpy.base.errors import ColumnNotFoundError, TypeMismatchError
from sharkpy.ml.rdd.rows import Row, row_class, rows_of
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import BIGINT, INT, STRING, Field, Schema, StructType, arrow_schema

TYPES: dict[str, Any] = {
    "boolean": True,
    "tinyint": 1,
    "smallint": 2,
    "int": 3,
    "bigint": 1 << 40,
    "float": 0.5,
    "double": 0.1,
    "decimal(10,2)": Decimal("1.50"),
    "string": "text",
    "varchar(5)": "abc",
    "char(3)": "abc",
    "binary": b"\0\1",
    "date": datetime.date(2024, 2, 29),
    "timestamp": datetime.datetime(2024, 2, 29, 1, 2, 3, 4),
    "array<int>": [1, None],
    "map<string,int>": {"a": 1},
    "struct<x:int,y:array<string>>": {"x": 1, "y": ["z"]},
}
GETTERS = {
    "get_boolean": ["boolean"],
    "get_byte": ["tinyint"],
    "get_short": ["tinyint", "smallint"],
    "get_int": ["tinyint", "smallint", "int"],
    "get_long": ["tinyint", "smallint", "int", "bigint"],
    "get_float": ["float"],
    "get_double": ["tinyint", "smallint", "int", "float", "double"],
    "get_decimal": ["decimal(10,2)"],
    "get_string": ["string", "varchar(5)", "char(3)"],
    "get_binary": ["binary"],
    "get_date": ["date"],
    "get_timestamp": ["timestamp"],
    "get_array": ["array<int>"],
    "get_map": ["map<string,int>"],
    "get_struct": ["struct<x:int,y:array<string>>"],
}


def schema_of(*columns: tuple[str, str]) -> Schema:
    return Schema(tuple(Field(name, parse_type(dtype)) for name, dtype in columns))


ALL = schema_of(*((f"c{place}", dtype) for place, dtype in enumerate(TYPES)))


def rows(schema: Schema, *values: tuple[Any, ...]) -> list[Row]:
    columns = list(zip(*values, strict=True)) if values else [()] * len(schema)
    types = arrow_schema(schema).types
    arrays = [pa.array(column, dtype) for column, dtype in zip(columns, types, strict=True)]
    return list(rows_of([pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(schema))], schema))


@pytest.fixture
def row() -> Row:
    schema = schema_of(("age", "int"), ("name", "string"), ("count", "bigint"), ("class", "double"), ("none", "int"))
    return rows(schema, (30, "Ann", 7, 0.5, None))[0]


def test_values_by_name_and_place(row: Row) -> None:
    assert (row.age, row["age"], row[0], row["AGE"], row.Age) == (30,) * 5
    assert (row[-1], row[:2], len(row)) == (None, (30, "Ann"), 5)
    age, name, *_ = row
    assert (age, name) == (30, "Ann")


def test_intervals_are_timedelta_and_text() -> None:
    types = ("interval_day_time", "interval_year_month", "array<interval_day_time>")
    schema = schema_of(*zip("abc", types, strict=True))
    assert rows(schema, (1, -14, [None, 2]), (None, None, None)) == [
        (datetime.timedelta(microseconds=1), "-1-2", [None, datetime.timedelta(microseconds=2)]),
        (None, None, None),
    ]


def test_names_that_python_has_taken(row: Row) -> None:
    assert row["count"] == 7
    assert row.count(30) == 1
    assert (row["class"], getattr(row, "class")) == (0.5, 0.5)


def test_a_row_is_its_tuple(row: Row) -> None:
    plain = (30, "Ann", 7, 0.5, None)
    assert row == plain
    assert plain == row
    assert hash(row) == hash(plain)
    assert {row: 1}[plain] == 1
    assert repr(row) == "Row(age=30, name='Ann', count=7, class=0.5, none=None)"
    assert row.as_dict() == {"age": 30, "name": "Ann", "count": 7, "class": 0.5, "none": None}
    assert row.columns == ("age", "name", "count", "class", "none")


def test_nulls(row: Row) -> None:
    assert row.is_null("none")
    assert row.get_int("none") is None
    assert not row.is_null(0)


def test_an_unknown_column_names_those_there_are(row: Row) -> None:
    with pytest.raises(ColumnNotFoundError, match='no column "aeg": there are age, name, count, class, none; did you'):
        row["aeg"]
    with pytest.raises(AttributeError, match='no column "salary": there are age'):
        row.salary  # noqa: B018
    with pytest.raises(ColumnNotFoundError, match="no column 9"):
        row.get_int(9)
    assert not hasattr(row, "__array__")


@pytest.mark.parametrize("getter", GETTERS)
def test_getters_of_every_type(getter: str) -> None:
    one = rows(ALL, tuple(TYPES.values()))[0]
    camel = getter.split("_", maxsplit=1)[0] + getter.split("_")[1].capitalize()
    for place, dtype in enumerate(TYPES):
        if dtype in GETTERS[getter]:
            assert getattr(one, getter)(f"c{place}") == getattr(one, camel)(place) == TYPES[dtype]
        else:
            with pytest.raises(TypeMismatchError, match=f"{getter} of column c{place}, which is "):
                getattr(one, getter)(place)


def test_equal_schemas_have_one_class() -> None:
    first, second = schema_of(("a", "int")), schema_of(("a", "int"))
    assert row_class(first) is row_class(second)
    assert row_class(first) is not row_class(schema_of(("a", "bigint")))


@pytest.mark.parametrize("pickler", [pickle, cloudpickle], ids=["pickle", "cloudpickle"])
def test_pickles_are_small_and_of_one_class(pickler: Any) -> None:
    many = rows(schema_of(("key", "int"), ("value", "string")), *((n, str(n)) for n in range(1000)))
    text = pickler.dumps(many)
    again = pickler.loads(text)
    assert again == many
    assert {type(one) for one in again} == {type(many[0])}
    assert len(text) < len(pickle.dumps(list(map(tuple, many)))) + 10 * len(many)
    assert copy.deepcopy(many[0]) == many[0]


def test_a_name_may_be_anything() -> None:
    odd = Schema((Field("a b.c", INT), Field("ü,é", StructType(("x y", "int,z"), (INT, STRING))), Field("", BIGINT)))
    one = rows(odd, (1, {"x y": 2, "int,z": "q"}, 3))[0]
    assert pickle.loads(pickle.dumps(one))["ü,é"] == {"x y": 2, "int,z": "q"}
    assert one.schema == odd


def test_of_equal_names_the_first_counts() -> None:
    one = rows(schema_of(("k", "int"), ("k", "string"), ("v", "int")), (1, "x", 2))[0]
    assert (one.k, one["k"], one.get_int("k"), one[1]) == (1, 1, 1, "x")


def test_without_columns_rows_are_counted() -> None:
    batch = pa.record_batch({"a": [1, 2, 3]}).select([])
    assert list(rows_of([batch], Schema(()))) == [(), (), ()]

"""Arrow columns as Python takes them, and what Python returns as Arrow columns."""

from __future__ import annotations

import datetime
import decimal
import re

import numpy as np
import pyarrow as pa
import pytest

from sharkpy.base.errors import ExecutionError
from sharkpy.udf.user import vectors
from sharkpy.udf.user.python_code import PythonCode
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import to_arrow

CODE = PythonCode(b"", "f.py", 7)
VALUES = [
    ("boolean", [True, False]),
    ("tinyint", [-128, 127]),
    ("int", [1, -5]),
    ("bigint", [2**63 - 1, -(2**63)]),
    ("float", [0.5, float("inf")]),
    ("double", [-0.0, 1e300]),
    ("string", ["", "ü🦈"]),
    ("binary", [b"", b"\x00\xff"]),
    ("date", [datetime.date(1, 1, 1), datetime.date(2024, 2, 29)]),
    ("timestamp", [datetime.datetime(1969, 12, 31, 23, 59, 59, 1), datetime.datetime(9999, 1, 1)]),
    ("decimal(38,3)", [decimal.Decimal("12345678901234567890.125"), decimal.Decimal("-0.001")]),
    ("array<int>", [[1, None], [2, 3]]),
    ("map<string,int>", [{"a": 1}, {}]),
    ("struct<x:int,y:string>", [{"x": 1, "y": None}, {"x": None, "y": "b"}]),
]


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("nulls", [[], [0], [1], [0, 1]], ids=str)
@pytest.mark.parametrize(("text", "values"), VALUES, ids=[text for text, _ in VALUES])
def test_there_and_back(text: str, values: list[object], nulls: list[int], offset: int) -> None:
    dtype = parse_type(text)
    wanted = [None if index in nulls else value for index, value in enumerate(values)]
    column = pa.array([values[0], *wanted] if offset else wanted, to_arrow(dtype)).slice(offset)
    for given in (vectors.numpy_values(column), vectors.python_values(column), column):
        made = vectors.column_of("f", CODE, given, dtype)
        assert made.type == to_arrow(dtype)
        assert vectors.python_values(made) == wanted


def test_lists_of_one_length_are_values() -> None:
    found = vectors.numpy_values(pa.array([[1, 2], [3, 4]]))
    assert found.dtype == object
    assert found.tolist() == [[1, 2], [3, 4]]


CONVERTED = [
    (np.array([1, 2], np.int8), "bigint", [1, 2]),
    (np.array([1.0, 2.0]), "int", [1, 2]),
    (np.array([2**53 + 1]), "double", [float(2**53)]),
    (np.array([0.1]), "float", [pytest.approx(0.1)]),
    (np.array(["a", "bc"]), "string", ["a", "bc"]),
    (np.array(["2024-02-29"], "datetime64[D]"), "date", [datetime.date(2024, 2, 29)]),
    (np.array(["2024-02-29T01:02:03"], "datetime64[s]"), "timestamp", [datetime.datetime(2024, 2, 29, 1, 2, 3)]),
    (np.array([1, None], object), "int", [1, None]),
    (np.ma.MaskedArray([1, 2], [True, False]), "int", [None, 2]),
    ([np.int64(3), None], "bigint", [3, None]),
    (np.array([np.nan]), "double", [pytest.approx(float("nan"), nan_ok=True)]),
]


@pytest.mark.parametrize(("given", "text", "wanted"), CONVERTED, ids=range(len(CONVERTED)))
def test_converted(given: object, text: str, wanted: list[object]) -> None:
    assert vectors.column_of("f", CODE, given, parse_type(text)).to_pylist() == wanted


WRONG = [
    (np.array([1.5]), "int"),
    (np.array([300]), "tinyint"),
    ([2**40], "int"),
    (np.array([1]), "string"),
    (np.array(["1"]), "int"),
    (np.array([1]), "boolean"),
    (np.array([True]), "int"),
    (np.array([np.nan]), "bigint"),
    (["a", 1], "string"),
    ([object()], "int"),
    ([[1, "x"]], "array<int>"),
    ([decimal.Decimal("1.234")], "decimal(5,2)"),
]


@pytest.mark.parametrize(("given", "text"), WRONG, ids=range(len(WRONG)))
def test_wrong_types(given: object, text: str) -> None:
    said = rf'function "f" returned a value that is not {re.escape(text)}.*f\.py, line 7'
    with pytest.raises(ExecutionError, match=said) as raised:
        vectors.column_of("f", CODE, given, parse_type(text))
    assert raised.value.sqlstate == "39000"


def test_lengths() -> None:
    dtype = parse_type("int")
    for single in (5, np.int32(5), np.array(5), pa.scalar(5)):
        assert vectors.result_column("f", CODE, single, 3, dtype).to_pylist() == [5, 5, 5]
    assert vectors.result_column("f", CODE, None, 2, dtype).to_pylist() == [None, None]
    assert vectors.result_column("f", CODE, pa.chunked_array([[1], [2]]), 2, dtype).to_pylist() == [1, 2]
    for given in ([], [1], np.arange(3), pa.array([1])):
        with pytest.raises(ExecutionError, match=f"returned {len(given)} values for 2 rows"):  # type: ignore[arg-type]
            vectors.result_column("f", CODE, given, 2, dtype)

"""Values as Hive prints them."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from sharkpy.values.type_parser import parse_type
from sharkpy.values.value_text import dumps, format_value, to_json

CASES = [
    ("double", 1.0, "1.0"),
    ("double", 1e10, "1.0E10"),
    ("double", -1.5e-7, "-1.5E-7"),
    ("double", 1234567.5, "1234567.5"),
    ("double", 0.001, "0.001"),
    ("double", 123456789.0, "1.23456789E8"),
    ("double", float("nan"), "NaN"),
    ("double", float("-inf"), "-Infinity"),
    ("double", -0.0, "-0.0"),
    ("float", 0.10000000149011612, "0.1"),
    ("decimal(10,2)", Decimal("1.50"), "1.50"),
    ("decimal(38,20)", Decimal("1E-20"), "0.00000000000000000001"),
    ("boolean", True, "true"),
    ("date", datetime.date(1, 2, 3), "0001-02-03"),
    ("timestamp", datetime.datetime(2024, 1, 2, 3, 4, 5), "2024-01-02 03:04:05"),
    ("timestamp", datetime.datetime(2024, 1, 2, 3, 4, 5, 120000), "2024-01-02 03:04:05.12"),
    ("binary", b"a\xff", "a\ufffd"),
    ("array<int>", [1, None], "[1,null]"),
    ("map<int,decimal(4,2)>", {1: Decimal("1.50")}, "{1:1.50}"),
    ("map<string,array<double>>", {"k": [1e10, float("nan"), None]}, '{"k":[1.0E10,NaN,null]}'),
    ("struct<a:date,b:string>", {"a": datetime.date(2024, 1, 1), "b": 'q"'}, '{"a":"2024-01-01","b":"q\\""}'),
    ("interval_year_month", 14, "1-2"),
    ("interval_day_time", -90_000_000, "-0 00:01:30.000000000"),
    ("string", None, "NULL"),
]


@pytest.mark.parametrize(("dtype", "value", "text"), CASES)
def test_text(dtype: str, value: Any, text: str) -> None:
    assert format_value(value, parse_type(dtype)) == text


def test_json_keeps_digits() -> None:
    value = to_json(Decimal("12345678901234567890.10"), parse_type("decimal(22,2)"))
    assert dumps([value]) == "[12345678901234567890.10]"

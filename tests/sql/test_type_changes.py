"""Types that a column may get, by Hive's rules."""

from __future__ import annotations

import pytest

from sharkpy.sql.statements.bind_alter_table import can_become
from sharkpy.values.type_parser import parse_type

NUMBERS = ("tinyint", "smallint", "int", "bigint", "decimal(10,2)", "float", "double")


@pytest.mark.parametrize("old", NUMBERS)
@pytest.mark.parametrize("new", NUMBERS)
def test_numbers_only_become_wider(old: str, new: str) -> None:
    assert can_become(parse_type(old), parse_type(new)) == (NUMBERS.index(old) <= NUMBERS.index(new))


@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        ("int", "string", True),
        ("date", "varchar(20)", True),
        ("timestamp", "string", True),
        ("boolean", "string", False),
        ("string", "int", False),
        ("string", "double", True),
        ("char(3)", "decimal(5,1)", True),
        ("varchar(9)", "char(2)", True),
        ("decimal(10,2)", "decimal(4,0)", True),
        ("boolean", "int", False),
        ("date", "timestamp", False),
        ("binary", "string", False),
        ("array<int>", "array<bigint>", True),
        ("array<int>", "map<int,int>", False),
        ("struct<a:int>", "struct<a:int,b:int>", True),
        ("int", "array<int>", False),
    ],
)
def test_other_types(old: str, new: str, allowed: bool) -> None:
    assert can_become(parse_type(old), parse_type(new)) == allowed
    assert can_become(parse_type(old), parse_type(old))

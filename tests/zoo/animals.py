"""Odd values of every type, and of two levels of nested types."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

Column = tuple[str, Any, list[Any]]
"""Type in SQL, type in Arrow, and one value a row."""
Columns = dict[str, Column]

TEXTS: list[str | None] = [
    "plain",
    None,
    "",
    " ",
    " both ends ",
    "a\nb",
    "a\r\nb",
    "\r",
    "a\tb",
    "a,b;c|d:e",
    "\x01\x02\x03",
    '"quoted"',
    '""',
    "it's",
    "\\",
    "\\N",
    "\\n",
    "NULL",
    "null",
    "\x00",
    "a\x00b",
    "😀\U0010ffff",
    "e\u0301 \u00e9",
    "\u2028\u2029\u0085",
    "\ufeffmark",
    "{",
    "[1]",
    '{"a":1}',
    "${x}",
    "%41",
    "0123",
    "+4",
    "1e3",
    "NaN",
    "true",
    "2020-01-01",
    "select",
    "--",
    "/*",
    "\x1b[2J",
]
_NAN, _INFINITY = float("nan"), float("inf")
_D = datetime.date
_T = datetime.datetime
_VALUES: dict[str, list[Any]] = {
    "boolean": [True, False, None],
    "tinyint": [0, -128, 127, None],
    "smallint": [0, -(2**15), 2**15 - 1, None],
    "int": [0, -(2**31), 2**31 - 1, None],
    "bigint": [0, -(2**63), 2**63 - 1, 2**53 + 1, None],
    "float": [0.0, -0.0, 1.5, _NAN, _INFINITY, -_INFINITY, 3.4028234663852886e38, 1.401298464324817e-45, None],
    "double": [0.0, -0.0, 0.1, _NAN, _INFINITY, -_INFINITY, 1.7976931348623157e308, 5e-324, 1e20, None],
    "decimal(38,10)": [Decimal(0), Decimal("-0.0000000001"), Decimal("9" * 28 + "." + "9" * 10), Decimal("1.5"), None],
    "decimal(4,2)": [Decimal("99.99"), Decimal("-99.99"), Decimal("0.01"), None],
    "string": TEXTS,
    "varchar(5)": ["12345", "", " a ", "é😀", None],
    "binary": [b"", b"\x00", b"\xff\xfe", b"a\nb", b"\x01", b"\\N", None],
    "date": [_D(1970, 1, 1), _D(1, 1, 1), _D(9999, 12, 31), _D(1582, 10, 4), _D(1582, 10, 15), None],
    "timestamp": [
        _T(1970, 1, 1),
        _T(1, 1, 1),
        _T(9999, 12, 31, 23, 59, 59, 999000),
        _T(1582, 10, 4, 1, 2, 3),
        _T(1969, 12, 31, 23, 59, 59, 999000),
        _T(2024, 2, 29, 12, 0, 0, 123000),
        None,
    ],
}
ROWS = len(TEXTS)
_ARROW: dict[str, Any] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal(38,10)": pa.decimal128(38, 10),
    "decimal(4,2)": pa.decimal128(4, 2),
    "string": pa.string(),
    "varchar(5)": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}
_NESTED: dict[str, tuple[str, Callable[[Any], Any], Callable[[Any, Any], list[Any]]]] = {
    "l": ("array<{0}>", pa.list_, lambda v, n: [[v, n], [], None, [None, v]]),
    "m": (
        "map<string,{0}>",
        lambda t: pa.map_(pa.string(), t),
        lambda v, n: [[("K", v)], [], None, [("k", n), ("", v)]],
    ),
    "s": (
        "struct<userId:{0},b:int>",
        lambda t: pa.struct([("userId", t), ("b", pa.int32())]),
        lambda v, n: [{"userId": v, "b": 1}, {"userId": None, "b": 2}, None, {"userId": n, "b": None}],
    ),
    "ls": (
        "array<struct<Up:{0},b:int>>",
        lambda t: pa.list_(pa.struct([("Up", t), ("b", pa.int32())])),
        lambda v, n: [[{"Up": v, "b": 1}, None], [], None, [{"Up": n, "b": None}]],
    ),
    "sl": (
        "struct<Inner:array<{0}>,b:int>",
        lambda t: pa.struct([("Inner", pa.list_(t)), ("b", pa.int32())]),
        lambda v, n: [{"Inner": [v, n], "b": 1}, {"Inner": None, "b": 2}, None, {"Inner": [], "b": 3}],
    ),
}
"""Prefix of a column -> its type in SQL and in Arrow, and four values made of two of the type below."""


def flat_columns() -> Columns:
    """A column of each type that is not nested."""
    return {f"c_{_name(dtype)}": _flat(dtype) for dtype in _VALUES}


def few_columns() -> Columns:
    """Flat columns, and each kind of nesting over a part of the types."""
    pairs = [(prefix, dtype) for place, dtype in enumerate(_VALUES) for prefix in [list(_NESTED)[place % len(_NESTED)]]]
    return flat_columns() | {f"{prefix}_{_name(dtype)}": _nested(prefix, dtype) for prefix, dtype in pairs}


def all_columns() -> Columns:
    """Flat columns, and each kind of nesting over each type."""
    return flat_columns() | {
        f"{prefix}_{_name(dtype)}": _nested(prefix, dtype) for prefix in _NESTED for dtype in _VALUES
    }


def _name(dtype: str) -> str:
    return dtype.replace("(", "_").replace(")", "").replace(",", "_")


def _flat(dtype: str) -> Column:
    values = _VALUES[dtype]
    return dtype, _ARROW[dtype], [values[row % len(values)] for row in range(ROWS)]


def _nested(prefix: str, dtype: str) -> Column:
    sql, arrow, made = _NESTED[prefix]
    _, inner, values = _flat(dtype)
    found = [made(value, values[(row + 1) % ROWS])[row % 4] for row, value in enumerate(values)]
    return sql.format(dtype), arrow(inner), found


def shown(value: Any) -> Any:
    """A value as it is compared: NaN and negative zero are what they are, names have no case, maps are dicts, and
    moments are in UTC.
    """
    match value:
        case float():
            return repr(value)
        case datetime.datetime():
            return value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo else value
        case dict() if value:
            return {name.lower(): shown(part) for name, part in value.items()}
        case list() if value and isinstance(value[0], tuple):
            return {key.lower(): shown(item) for key, item in value}
        case list():
            return [shown(item) for item in value]
        case dict():
            # A map without entries, which Arrow shows as a list.
            return []
    return value

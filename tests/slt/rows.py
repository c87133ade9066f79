"""Arrow tables as rows of text, and rows compared: floats within a tolerance, all else exactly."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.types as pat

RELATIVE, ABSOLUTE = 1e-6, 1e-9


def type_letters(schema: pa.Schema) -> str:
    return "".join(map(_letter, schema.types))


def _letter(arrow_type: pa.DataType) -> str:
    tests = (("I", pat.is_integer), ("R", pat.is_floating), ("D", pat.is_decimal), ("B", pat.is_boolean))
    return next((letter for letter, test in tests if test(arrow_type)), "T")


def text_rows(table: pa.Table) -> list[tuple[str, ...]]:
    columns = [[value_text(value) for value in column.to_pylist(maps_as_pydicts="lossy")] for column in table.columns]
    return list(zip(*columns, strict=True))


def value_text(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case float():
            return str(int(value)) + ".0" if value.is_integer() and abs(value) < 1e15 else repr(value)
        case Decimal():
            return format(value, "f")
        case datetime.datetime():
            return value.replace(tzinfo=None).isoformat(sep=" ")
        case bytes():
            return value.decode("utf-8", errors="backslashreplace")
        case dict():
            items = sorted(f"{value_text(key)}:{value_text(item)}" for key, item in value.items())
            return "{" + ",".join(items) + "}"
        case list() | tuple():
            return "[" + ",".join(map(value_text, value)) + "]"
        case "":
            return "(empty)"
        case str():
            return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
    return str(value)


def arrange(rows: list[tuple[str, ...]], sort: str) -> list[tuple[str, ...]]:
    match sort:
        case "rowsort":
            return sorted(rows, key=lambda row: tuple(map(_sort_key, row)))
        case "valuesort":
            return [(cell,) for cell in sorted((cell for row in rows for cell in row), key=_sort_key)]
    return rows


def _sort_key(cell: str) -> tuple[int, float, str]:
    """Sort key of a value: numbers by value, as far as they count as equal; all else as text: " 7 " is not 7."""
    try:
        number = math.nan if cell != cell.strip() else float(cell)
    except ValueError:
        return (1, 0.0, cell)
    if math.isnan(number):
        return (1, 0.0, cell)
    return (0, float(f"{number:.6g}"), "")


def difference(actual: list[tuple[str, ...]], expected: list[tuple[str, ...]]) -> str | None:
    """Difference between two answers, or None."""
    for index, (row, wanted) in enumerate(zip(actual, expected, strict=False)):
        if len(row) != len(wanted) or not all(map(_same, row, wanted)):
            return f"row {index + 1} is {row}, expected {wanted}"
    if len(actual) != len(expected):
        return f"{len(actual)} rows, expected {len(expected)}"
    return None


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    if not any(mark in one or mark in other for mark in (".", "e", "E")):
        return False
    try:
        first, second = float(one), float(other)
    except ValueError:
        return _same_nested(one, other)
    return math.isclose(first, second, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def _same_nested(one: str, other: str) -> bool:
    if not (one[:1] == other[:1] and one[:1] in ("[", "{")):
        return False
    left, right = (text.translate(str.maketrans("[]{}:", ",,,,,")).split(",") for text in (one, other))
    return len(left) == len(right) and all(map(_same, left, right))

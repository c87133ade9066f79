"""Whether two answers are the same bag of rows, floats within a tolerance."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa

RELATIVE, ABSOLUTE = 1e-5, 1e-4
"""An average of decimals has six digits of scale in one engine and is a double in another; sums have any order."""


def difference(one: pa.Table, other: pa.Table) -> str | None:
    """What is different, or None."""
    if one.num_rows != other.num_rows:
        return f"{one.num_rows} rows against {other.num_rows}"
    if one.num_columns != other.num_columns:
        return f"{one.num_columns} columns against {other.num_columns}"
    for left, right in zip(_rows(one), _rows(other), strict=True):
        if not all(map(_same, left, right)):
            return f"{left} against {right}"
    return None


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    return sorted(zip(*columns, strict=True), key=lambda row: tuple(map(_sort_key, row)))


def _plain(value: Any) -> Any:
    match value:
        case bool() | None:
            return str(value)
        case int() | float() | Decimal():
            return float(value)
    return str(value)


def _sort_key(value: Any) -> tuple[int, float, str]:
    return (0, float(f"{value:.4g}"), "") if isinstance(value, float) else (1, 0.0, value)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return bool(one == other)

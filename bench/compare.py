"""Comparison of two answers as bags of rows, floats within a tolerance."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MANY_ROWS = 50_000
"""From this number of rows on, answers are sorted by their columns without floats and compared column by column."""
RELATIVE, ABSOLUTE = 1e-5, 1e-4
"""Tolerances. An average of decimals has six digits of scale in one engine and is a double in another; sums have any
order.
"""


def difference(one: pa.Table, other: pa.Table) -> str | None:
    """Difference between two answers, or None."""
    if one.num_rows != other.num_rows:
        return f"{one.num_rows} rows against {other.num_rows}"
    if one.num_columns != other.num_columns:
        return f"{one.num_columns} columns against {other.num_columns}"
    if one.num_rows >= MANY_ROWS:
        return _difference_of_columns(_sorted(one), _sorted(other))
    for left, right in zip(_rows(one), _rows(other), strict=True):
        if not all(map(_same, left, right)):
            return f"{left} against {right}"
    return None


def _sorted(table: pa.Table) -> pa.Table:
    """Sort rows by text and integers first, then by doubles; numbers other than integers become doubles,
    the rest text.
    """
    columns = []
    for column in table.columns:
        is_integer = pa.types.is_integer(column.type)
        is_number = pa.types.is_decimal(column.type) or pa.types.is_floating(column.type)
        columns.append(column if is_integer else column.cast(pa.float64() if is_number else pa.string()))
    plain = pa.table(columns, names=[f"c{index}" for index in range(len(columns))])
    keys = sorted(plain.column_names, key=lambda name: _is_float(plain, name))
    return plain.sort_by([(name, "ascending") for name in keys])


def _is_float(table: pa.Table, name: str) -> bool:
    return bool(pa.types.is_floating(table.schema.field(name).type))


def _difference_of_columns(one: pa.Table, other: pa.Table) -> str | None:
    for name in one.column_names:
        left, right = one[name], other[name]
        if _is_float(one, name):
            pairs = (column.to_numpy() for column in (left, right))
            same = np.isclose(*pairs, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True)
        else:
            same = pc.fill_null(pc.equal(left, right), fill_value=False).to_numpy()
            same |= pc.and_(pc.is_null(left), pc.is_null(right)).to_numpy()
        if not same.all():
            at = int(np.argmin(same))
            return f"column {name}: {left[at]} against {right[at]}"
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
    """Whole numbers, which are the same in all engines, are not rounded: keys of groups would be mixed up."""
    if not isinstance(value, float):
        return (1, 0.0, value)
    return (0, value if value.is_integer() else float(f"{value:.4g}"), "")


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return bool(one == other)

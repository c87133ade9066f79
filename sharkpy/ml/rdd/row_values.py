"""The Python values of Arrow columns, at the cost of Arrow's own fastest way."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa

from sharkpy.errors import ExecutionError

_YEARS = {
    pa.date32(): (pa.int32(), -719_162, 2_932_896),
    pa.timestamp("us"): (pa.int64(), -62_135_596_800_000_000, 253_402_300_799_999_999),
}
"""Type -> the type of its numbers, the least and the greatest that have a Python value: the years 1 to 9999."""


def values_of(column: pa.Array[Any]) -> list[Any]:
    """Python values: Decimal, date, datetime without zone, list, dict for MAP and STRUCT; None for NULL."""
    if column.type not in _YEARS:
        return _plain_values(column)
    number_type, least, greatest = _YEARS[column.type]
    if len(column) > column.null_count:
        numbers = column.drop_null().view(number_type).to_numpy()
        if numbers.min() < least or numbers.max() > greatest:
            raise _no_value()
    # Arrow's own way takes forty times as long.
    return cast("list[Any]", column.to_numpy(zero_copy_only=False).tolist())


def _plain_values(column: pa.Array[Any]) -> list[Any]:
    if not pa.types.is_nested(column.type):
        # Where maps may occur each value is looked at by itself.
        return column.to_pylist()
    try:
        return column.to_pylist(maps_as_pydicts="lossy")
    except OverflowError:
        raise _no_value() from None


def _no_value() -> ExecutionError:
    message = "a date or timestamp outside the years 1 to 9999 has no Python value"
    return ExecutionError(message, hint="read it with map_batches", sqlstate="22008")

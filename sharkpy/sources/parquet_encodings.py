"""Writing of Parquet files: encodings chosen from a sample of rows, and row groups written in the background."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.records import dataclass

_RUNS, _RUN_ROWS = 16, 256
_DELTA = "DELTA_BINARY_PACKED"
_WIDE_BITS = 40
"""Differences of this many bits or more are not packed: it would save little, and old readers support plain values."""


@dataclass(frozen=True, slots=True)
class ParquetEncodings:
    """Leaves of columns with a dictionary, and encodings of other columns by name; all remaining columns are plain."""

    dictionaries: tuple[str, ...]
    encodings: tuple[tuple[str, str], ...]


def choose_encodings(table: pa.Table, *, has_deltas: bool) -> ParquetEncodings:
    """Choose encodings for the rows of `table`; numbers as differences only with `has_deltas`.

    Columns get a dictionary if their values repeat; otherwise hashing them all would gain nothing. Strings always get
    one: without a dictionary DuckDB takes NULLs next to a single value for that value (see `_is_misread` of
    `parquet_footer.py`).
    """
    sample = _sample(table)
    dictionaries: list[str] = []
    deltas: list[tuple[str, str]] = []
    for field, column in zip(table.schema, sample.columns, strict=True):
        check_cancelled()
        if pa.types.is_nested(field.type) or _is_bytes(field.type):
            dictionaries += _leaves(field)
            continue
        values = column.drop_null()
        distinct = int(pc.count_distinct(values).as_py())
        bits = _difference_bits(values) if has_deltas else None
        repeats = 2 * distinct <= len(values)
        if bits is None or (repeats and 2 * (distinct - 1).bit_length() < bits):
            if repeats:
                dictionaries.append(field.name)
        elif bits < _WIDE_BITS:
            deltas.append((field.name, _DELTA))
    return ParquetEncodings(tuple(dictionaries), tuple(deltas))


def _is_bytes(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_string(dtype) or pa.types.is_binary(dtype))


def _sample(table: pa.Table) -> pa.Table:
    """Sample of runs of adjacent rows, spread over the table."""
    if table.num_rows <= _RUNS * _RUN_ROWS:
        return table
    starts = np.linspace(0, table.num_rows - _RUN_ROWS, _RUNS).astype(np.int64)
    return pa.concat_tables([table.slice(int(start), _RUN_ROWS) for start in starts])


def _difference_bits(values: pa.ChunkedArray[Any]) -> int | None:
    """Bits needed for the differences of adjacent values; None if the type is not stored as integers."""
    dtype = values.type
    if not (pa.types.is_integer(dtype) or pa.types.is_date32(dtype) or pa.types.is_timestamp(dtype)):
        return None
    if len(values) < 2:
        return 0
    numbers = values.cast(pa.int32()) if pa.types.is_date32(dtype) else values
    # Only Arrow's functions: `to_numpy` imports pandas, which takes half a second.
    bounds = pc.min_max(pc.pairwise_diff(numbers.cast(pa.int64()).combine_chunks()))
    return int(bounds["max"].as_py() - bounds["min"].as_py()).bit_length()


def _leaves(field: pa.Field[Any], path: str = "") -> Iterator[str]:
    """Paths of the leaves of a column, in Parquet's form."""
    path, dtype = path or field.name, field.type
    if pa.types.is_map(dtype):
        inner = [(f"{path}.key_value.{one.name}", one) for one in (dtype.key_field, dtype.item_field)]
    elif pa.types.is_list(dtype) or pa.types.is_large_list(dtype):
        inner = [(f"{path}.list.element", dtype.value_field)]
    elif pa.types.is_struct(dtype):
        inner = [(f"{path}.{one.name}", one) for one in dtype]
    else:
        yield path
        return
    for name, one in inner:
        yield from _leaves(one, name)


_Item = TypeVar("_Item")


def write_in_background(items: Iterable[_Item], write: Callable[[_Item], object]) -> Generator[_Item]:
    """Write `items` in order, and yield each item that was passed to `write`.

    All items except the last are written by another thread, while the next one is made. At the end all have been
    written. An error of `write` is raised.
    """
    source = iter(items)
    item = next(source, None)
    if item is None:
        return
    pool: ThreadPoolExecutor | None = None
    try:
        while (following := next(source, None)) is not None:
            if pool is None:
                pool = ThreadPoolExecutor(1, "sharkpy-write")
                written: Future[object] = pool.submit(write, item)
            else:
                written.result()
                written = pool.submit(write, item)
            yield item
            item = following
        if pool is not None:
            written.result()
        write(item)
        yield item
    finally:
        if pool is not None:
            pool.shutdown(wait=True)

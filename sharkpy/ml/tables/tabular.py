"""Tables of this process as Arrow batches: of pyarrow and of anything with its C interface, of pandas, of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.base.errors import DataError, ParameterError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.ml.tables.fit_columns import ARROW_FAULTS, check_count, fit_batch, places_from, places_of
from sharkpy.sources.arrow import Array
from sharkpy.values.types import Schema

KINDS = (
    "an RDD, a TableRDD, a table of pyarrow, pandas, polars or DuckDB, what has __arrow_c_stream__, "
    "a NumPy array, or a list of rows"
)
"""Kinds of data that can be saved as a table, for errors."""
_BATCH_ROWS = 262_144


@dataclass(frozen=True, slots=True)
class Tabular:
    """Columns of this process: their schema, whether its names count, and a function that reads all rows,
    repeatably.
    """

    schema: pa.Schema
    batches: Callable[[], Iterable[pa.RecordBatch]]
    label: str
    is_named: bool = True
    num_rows: int | None = None


class Stream:
    """Batches of a reader, which can be read once."""

    def __init__(self, reader: pa.RecordBatchReader, label: str) -> None:
        self._reader: pa.RecordBatchReader | None = reader
        self._label = label

    def __call__(self) -> Iterable[pa.RecordBatch]:
        reader, self._reader = self._reader, None
        if reader is None:
            raise DataError(
                f"{self._label} was read already: it gives its rows once", hint="read it into a table first"
            )
        return reader


@dataclass(frozen=True, slots=True)
class TabularRows:
    """RowReader of tables: columns go by name, or by position if they have no names."""

    schema: Schema
    label: str

    def __call__(self, rows: Iterable[Any], number: int) -> Iterator[pa.RecordBatch]:
        start = 0
        for table in rows:
            places = self._places(table)
            for batch in table.batches():
                place = places_from(start, self.label, number)
                yield fit_batch([batch.column(one) for one in places], self.schema, place)
                start += batch.num_rows

    def _places(self, table: Tabular) -> list[int]:
        names = table.schema.names
        is_named = table.is_named and any(name.lower() in self.schema.names for name in names)
        if is_named:
            return places_of(names, self.schema, table.label)
        check_count(len(names), self.schema, table.label)
        return list(range(len(names)))


def tabular(data: Any) -> Tabular | None:
    """Return `data` as columns, or None if it is not a table of a known kind."""
    module = type(data).__module__.split(".")[0]
    if module == "pandas":
        return _of_pandas(data)
    if isinstance(data, np.ndarray):
        return _of_array(data)
    if isinstance(data, tuple) and len(data) == 2 and getattr(data[0], "ndim", 0) == 2:
        return _of_features(*data)
    if module == "polars" and hasattr(data, "collect"):
        data = data.collect()
    if isinstance(data, pa.Table):
        return Tabular(data.schema, partial(data.to_batches, _BATCH_ROWS), "a pyarrow Table", num_rows=data.num_rows)
    if isinstance(data, pa.RecordBatch):
        return Tabular(data.schema, lambda: (data,), "a pyarrow RecordBatch", num_rows=data.num_rows)
    if hasattr(data, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(data)
        label = f"a {module} {type(data).__name__}"
        return Tabular(reader.schema, Stream(reader, label), label)
    if hasattr(data, "scanner") and module == "pyarrow":
        return Tabular(data.schema, data.to_batches, "a pyarrow Dataset")
    return None


def _of_pandas(frame: Any) -> Tabular:
    """Return the columns of a pandas frame. A Series is one column; NaN is NULL; the index is left out."""
    if type(frame).__name__ == "Series":
        frame = frame.to_frame(frame.name if frame.name is not None else "value")
    if type(frame).__name__ != "DataFrame":
        raise ParameterError(f"a pandas {type(frame).__name__} cannot be saved as a table", hint=f"give {KINDS}")
    if frame.columns.nlevels > 1:
        raise UnsupportedError("columns of several levels", hint="give them one name each")
    columns = [_of_series(str(name), frame.iloc[:, place]) for place, name in enumerate(frame.columns)]
    schema = pa.schema([(str(name), column.type) for name, column in zip(frame.columns, columns, strict=True)])
    table = pa.table(columns, schema=schema)
    return Tabular(schema, partial(table.to_batches, _BATCH_ROWS), "a pandas DataFrame", num_rows=len(frame))


def _of_series(name: str, series: Any) -> Array:
    try:
        return pa.array(series, from_pandas=True)
    except (*ARROW_FAULTS, OverflowError) as error:
        fact = str(error).splitlines()[0]
        raise DataError(f'column "{name}" of the DataFrame is of no one type: {fact}') from None


def _of_array(array: Any) -> Tabular:
    """Return the columns of a matrix or a structured array, or one column. Masked values are NULL, NaN is a value."""
    if array.dtype.names is not None:
        named = [(name, array[name]) for name in array.dtype.names]
        return _of_arrays(named, len(array), "a structured array", is_named=True)
    if array.ndim == 1:
        return _of_arrays([("value", array)], len(array), "an array", is_named=False)
    if array.ndim != 2:
        raise DataError(f"an array of {array.ndim} dimensions cannot be saved as a table", hint="give rows and columns")
    if not array.shape[1]:
        raise DataError("the array has no columns")
    columns = [(f"c{place}", array[:, place]) for place in range(array.shape[1])]
    return _of_arrays(columns, len(array), "an array", is_named=False)


def _of_features(X: Any, y: Any) -> Tabular:
    """Return the columns of a matrix, with its labels, if any, as the last column."""
    columns = [(f"c{place}", X[:, place]) for place in range(X.shape[1])]
    if y is not None:
        if np.shape(y) != X.shape[:1]:
            raise DataError(f"labels of shape {np.shape(y)} for {len(X):,} rows")
        columns.append(("label", np.asarray(y)))
    return _of_arrays(columns, len(X), "features", is_named=False)


def _of_arrays(named: Sequence[tuple[str, Any]], num_rows: int, label: str, *, is_named: bool) -> Tabular:
    def batch(start: int) -> pa.RecordBatch:
        arrays = [_of_numpy(column[start : start + _BATCH_ROWS]) for _, column in named]
        return pa.RecordBatch.from_arrays(arrays, names=[name for name, _ in named])

    schema = batch(0).schema
    return Tabular(schema, lambda: map(batch, range(0, num_rows, _BATCH_ROWS)), label, is_named, num_rows)


def _of_numpy(column: Any) -> Array:
    if column.ndim > 1:
        return pa.array(list(column))
    mask = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else None
    values = np.asarray(column)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    try:
        return pa.array(np.ascontiguousarray(values), mask=mask)
    except (*ARROW_FAULTS, OverflowError) as error:
        raise DataError(f"a column of the array is of no one type: {str(error).splitlines()[0]}") from None

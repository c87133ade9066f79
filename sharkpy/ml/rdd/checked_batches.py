"""Results of a user's function of Arrow batches, as batches of a declared schema; workers import this file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from sharkpy.base.errors import DataError
from sharkpy.base.records import dataclass
from sharkpy.ml.rdd.partition_functions import as_task_error
from sharkpy.ml.tables.fit_columns import fit_batch, places_of
from sharkpy.values.nested_arrow import cast_column
from sharkpy.values.types import Schema


@dataclass(frozen=True, slots=True)
class CheckedBatches:
    """Function f over batches with the names and types of `given`, with its results as batches of the columns `made`.

    f may return a batch, a table, a dict of arrays, a data frame of pandas or polars, or None for no rows.
    """

    f: Callable[[pa.RecordBatch], Any]
    name: str
    given: pa.Schema
    made: Schema

    def __call__(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        columns = [cast_column(column, field.type) for column, field in zip(batch.columns, self.given, strict=True)]
        try:
            returned = self.f(pa.RecordBatch.from_arrays(columns, schema=self.given))
        except Exception as error:  # noqa: BLE001 - whatever a user's function raises
            raise as_task_error(error, "map_batches") from None
        if returned is not None:
            yield self._fitted(returned)

    def _fitted(self, returned: Any) -> pa.RecordBatch:
        what = f'what "{self.name}" returned'
        table = _table(returned, what)
        columns = [table.column(place) for place in places_of(table.column_names, self.made, what)]
        return fit_batch(columns, self.made, lambda row: f"row {row + 1} of {what}")


def _table(returned: Any, what: str) -> pa.Table:
    try:
        if isinstance(returned, Mapping):
            return pa.table({name: _array(values) for name, values in returned.items()})
        if hasattr(returned, "__arrow_c_stream__") or hasattr(returned, "__arrow_c_array__"):
            return pa.table(returned)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"{what} is not a batch of rows: {error}") from None
    raise DataError(f"{what} is of type {type(returned).__name__}", hint="return a batch, a table, or a dict of arrays")


def _array(values: Any) -> Any:
    return values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values)

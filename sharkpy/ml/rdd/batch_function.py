"""A user's function of Arrow batches as a part of a query: what it returns is checked against a declared schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import cloudpickle
import pyarrow as pa

from sharkpy.batch_step import BatchStep
from sharkpy.errors import DataError, ParameterError
from sharkpy.logical import LogicalPlan, Step
from sharkpy.ml.rdd.table_query import Change
from sharkpy.ml.rdd.task_errors import as_task_error
from sharkpy.ml.tables.declared_columns import declared_columns
from sharkpy.ml.tables.fit_columns import fit_batch, places_of
from sharkpy.physical.fresh_ids import FreshIds
from sharkpy.types import Schema, to_arrow


def mapped_plan(f: Callable[[pa.RecordBatch], Any], schema: object) -> Change:
    """What makes of a plan the plan of f's rows. ParameterError where `schema` names no types, or f cannot be sent."""
    declared = declared_columns(schema)
    if declared is None or declared.schema is None:
        raise ParameterError("map_batches takes a schema with types", hint='such as "id bigint, score double"')
    made, name = declared.schema, getattr(f, "__qualname__", type(f).__name__)
    return partial(_over, f, name, made)


def _over(f: Callable[[pa.RecordBatch], Any], name: str, made: Schema, plan: LogicalPlan) -> LogicalPlan:
    given = pa.schema([(column.name, to_arrow(column.dtype)) for column in plan.output])
    try:
        pickled = cloudpickle.dumps(CheckedBatches(f, name, given, made))
    except Exception as error:  # noqa: BLE001 - whatever the function refers to
        raise ParameterError(f'the function "{name}" cannot be sent to tasks: {error}') from None
    ids = FreshIds(plan)
    columns = tuple(ids.column(field.name, field.dtype) for field in made)
    return Step(plan, BatchStep(name.replace("<locals>.", ""), pickled), plan.output, columns)


@dataclass(frozen=True, slots=True)
class CheckedBatches:
    """f of a batch under the names and types of `given`, as batches of the columns `made`.

    f may return a batch, a table, a dict of arrays, a data frame of pandas or polars, or None for no rows.
    """

    f: Callable[[pa.RecordBatch], Any]
    name: str
    given: pa.Schema
    made: Schema

    def __call__(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        columns = [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(batch.columns, self.given, strict=True)
        ]
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
        raise DataError(f"{what} is no batch of rows: {error}") from None
    raise DataError(f"{what} is of type {type(returned).__name__}", hint="return a batch, a table, or a dict of arrays")


def _array(values: Any) -> Any:
    return values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values)

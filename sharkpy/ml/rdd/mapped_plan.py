"""User's function of Arrow batches as a part of a query with a declared schema."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import cloudpickle
import pyarrow as pa

from sharkpy.base.errors import ParameterError
from sharkpy.ml.rdd.checked_batches import CheckedBatches
from sharkpy.ml.rdd.table_query import Change
from sharkpy.ml.tables.declared_columns import declared_columns
from sharkpy.physical.plan_context import FreshIds
from sharkpy.plan.logical import LogicalPlan, Step
from sharkpy.plan.row_steps import BatchStep
from sharkpy.values.types import Schema, to_arrow


def mapped_plan(f: Callable[[pa.RecordBatch], Any], schema: object) -> Change:
    """Return the change from a plan to the plan of f's rows. Raise ParameterError if `schema` names no types, or f
    cannot be sent.
    """
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

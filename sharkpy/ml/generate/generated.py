"""Results of functions called by GENERATE: a table, and the model if the function fitted one."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.base.errors import (
    BindError,
    DataError,
    ExecutionError,
    ParameterError,
    SharkError,
    TableExistsError,
    UnsupportedError,
)
from sharkpy.catalog.names import TableName
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.ml.generate.model_table import model_rows, save_model
from sharkpy.ml.models.estimator import Estimator
from sharkpy.ml.rdd.table_rdd import TableRDD
from sharkpy.ml.tables.declared_columns import DeclaredColumns
from sharkpy.ml.tables.given_data import given_rows
from sharkpy.ml.tables.save_table import save_as_table
from sharkpy.physical.plan_context import FreshIds
from sharkpy.plan.expr import Alias, ColumnRef
from sharkpy.plan.logical import Given, LogicalPlan, Project
from sharkpy.sql.expressions.coercion import cast
from sharkpy.values.common_types import common_type
from sharkpy.values.types import StructType

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.udf.user.relation import PythonRelation

WRONG_RESULT = "39000"
_OF_RESULTS = (BindError, DataError, ParameterError, UnsupportedError)


@dataclass(frozen=True, slots=True)
class Generated:
    """Table and the model that made it, which `model => 'name'` saves; a function may return one.

    `is_model`: the function returned only the model, and the table shows it.
    """

    table: TableRDD
    model: Estimator | None = None
    is_model: bool = False

    def save(self, name: TableName) -> None:
        """Create a table of the result, or the model's table if the result is a model."""
        session = self.table.session
        if self.is_model and self.model is not None:
            save_model(session, self.model, ".".join(name))
        else:
            save_as_table(session, self.table, ".".join(name))

    def batches(self) -> Generator[pa.RecordBatch]:
        """Yield the rows of the result, over the versions of the tables that the function read."""
        session, query = self.table.session, self.table._query
        plan = query.ready_plan()
        yield from query_rows(session, plan, query.snapshot)


def generated(function: PythonRelation, result: object, session: EngineSession) -> Generated:
    """Return the result of a function as a table. Raise ExecutionError that names the function if it has no rows, or
    does not fit the declared columns.
    """
    if isinstance(result, Generated):
        return result
    if isinstance(result, Estimator):
        return Generated(_given(model_rows(result), None, session), result, is_model=True)
    if isinstance(result, TableRDD):
        return Generated(result if function.columns is None else _as_declared(result, function))
    with naming(function):
        return Generated(_given(result, function.columns, session))


@contextlib.contextmanager
def naming(function: PythonRelation) -> Iterator[None]:
    """Name the user's function in errors of its result, but not in errors of blocks, workers and disks."""
    try:
        yield
    except SharkError as error:
        is_its_own = type(error) is ExecutionError or isinstance(error, _OF_RESULTS)
        if function.is_built_in or not is_its_own or isinstance(error, TableExistsError):
            raise
        message = f"the result of the function {function.name}: {error.message}"
        raise ExecutionError(message, hint=error.hint, sqlstate=WRONG_RESULT) from error


def _given(data: object, columns: StructType | None, session: EngineSession) -> TableRDD:
    declared = None if columns is None else DeclaredColumns(columns.names, columns.types)
    rows = given_rows(session, data, declared)
    refs = tuple(ColumnRef(index, field.name, field.dtype) for index, field in enumerate(rows.schema, start=1))
    return TableRDD(session, Given(refs, rows))


def _as_declared(table: TableRDD, function: PythonRelation) -> TableRDD:
    """Return the table with the declared types. Raise an error if it has other columns, or types that do not widen to
    these.
    """
    declared = function.columns or StructType((), ())
    names = tuple(name.lower() for name in table.columns)
    fits = names == declared.names and all(
        common_type(field.dtype, dtype) == dtype for field, dtype in zip(table.schema, declared.types, strict=True)
    )
    if not fits:
        returned = ", ".join(f"{field.name} {field.dtype}" for field in table.schema)
        wanted = ", ".join(f"{name} {dtype}" for name, dtype in zip(declared.names, declared.types, strict=True))
        message = f"the function {function.name} returned the columns {returned}, and declares {wanted}"
        raise ExecutionError(message, sqlstate=WRONG_RESULT)
    return table.changed(lambda plan: _cast(plan, declared))


def _cast(plan: LogicalPlan, declared: StructType) -> LogicalPlan:
    ids = FreshIds(plan)
    items: list[Alias | ColumnRef] = [
        column if column.dtype == dtype else ids.alias(cast(column, dtype), column.name)
        for column, dtype in zip(plan.output, declared.types, strict=True)
    ]
    return Project(plan, tuple(items))

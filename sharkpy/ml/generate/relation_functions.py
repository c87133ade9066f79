"""Built-in functions of GENERATE, one row each, and results of functions: a table, and the model if one was fitted."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Generator, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import sharkpy.ml
from sharkpy.base.errors import (
    BindError,
    DataError,
    ExecutionError,
    InternalError,
    ParameterError,
    SharkError,
    TableExistsError,
    UnsupportedError,
)
from sharkpy.base.records import dataclass
from sharkpy.catalog.names import TableName
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.ml.generate.model_function import PREDICT, PROBABILITY, has_method, with_predictions
from sharkpy.ml.generate.model_table import model_rows, save_model
from sharkpy.ml.models.estimator import Estimator
from sharkpy.ml.rdd.table_rdd import TableRDD
from sharkpy.ml.tables.declared_columns import DeclaredColumns
from sharkpy.ml.tables.program_data import given_rows
from sharkpy.ml.tables.save_table import save_as_table
from sharkpy.physical.plan_context import FreshIds
from sharkpy.plan.expr import Alias, ColumnRef
from sharkpy.plan.logical import Given, LogicalPlan, Project
from sharkpy.sql.expressions.coercion import cast
from sharkpy.udf.user.python_code import place_of
from sharkpy.udf.user.relation import TABLE, Kind, PythonRelation
from sharkpy.values.common_types import common_type
from sharkpy.values.types import STRING, ArrayType, StructType

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.ml.rdd.table_rdd import TableRDD
    from sharkpy.udf.user.relation import PythonRelation

MODEL = "model"
"""Parameter with the name of the table that holds the fitted model."""
_KINDS: dict[str, Kind] = {"data": TABLE, "label": STRING, "features": ArrayType(STRING), "na": STRING, MODEL: STRING}
_OPTIONS = {"features": None, "na": "error", MODEL: None}
_Parameter = inspect.Parameter


@dataclass(frozen=True, slots=True)
class Algorithm:
    """Class of `sharkpy.ml` that fits a model, as a function: it returns the table's columns and the model's
    predictions.

    Its parameters are the table, the label if the class needs one, the `leading` parameters of the class, and by name
    `features`, `na`, `model` and all other parameters of the class.
    """

    class_name: str
    leading: tuple[str, ...] = ()

    def __call__(self, name: str) -> PythonRelation:
        kind = getattr(sharkpy.ml, self.class_name)
        signature = inspect.Signature(self._parameters(kind))

        def call(*args: Any, **kwargs: Any) -> FunctionResult:
            return _fitted(kind, **signature.bind(*args, **kwargs).arguments)

        kinds = {one: _KINDS[one] for one in signature.parameters if one in _KINDS}
        return PythonRelation(name, call, signature, kinds, None, place_of(kind), _doc(kind), is_built_in=True)

    def _parameters(self, kind: Any) -> list[inspect.Parameter]:
        own = {one.name: one for one in inspect.signature(kind).parameters.values()}
        first = [_Parameter("data", _Parameter.POSITIONAL_OR_KEYWORD)]
        if kind.requires_label:
            first.append(_Parameter("label", _Parameter.POSITIONAL_OR_KEYWORD))
        first += [own.pop(one).replace(kind=_Parameter.POSITIONAL_OR_KEYWORD) for one in self.leading]
        options = [_Parameter(one, _Parameter.KEYWORD_ONLY, default=default) for one, default in _OPTIONS.items()]
        return [*first, *options, *(one.replace(kind=_Parameter.KEYWORD_ONLY) for one in own.values())]


def _doc(target: object) -> str:
    return (inspect.getdoc(target) or "").split("\n")[0]


def _fitted(
    kind: Any,
    data: TableRDD,
    label: str | None = None,
    features: list[str] | None = None,
    na: str = "error",
    model: str | None = None,  # noqa: ARG001 - GENERATE keeps the model
    **parameters: Any,
) -> FunctionResult:
    fitted = kind(**parameters).fit(data, label, features=features, na=na)
    columns = {fitted.prediction_column: PREDICT}
    if has_method(fitted, PROBABILITY):
        columns[PROBABILITY] = PROBABILITY
    return FunctionResult(with_predictions(data, fitted, columns), fitted)


def _page_rank(name: str) -> PythonRelation:
    from sharkpy.ml.graph.page_rank import PageRank, page_rank

    not_given = ("session", "parameters")
    given = [one for name, one in inspect.signature(page_rank).parameters.items() if name not in not_given]
    own = inspect.signature(PageRank).parameters.values()
    signature = inspect.Signature([*given, *(one.replace(kind=_Parameter.KEYWORD_ONLY) for one in own)])
    kinds: dict[str, Kind] = dict.fromkeys(("edges", "vertices", "personalization"), TABLE)
    kinds |= dict.fromkeys(("source", "target", "weight"), STRING)
    place, doc = place_of(page_rank), _doc(page_rank)
    return PythonRelation(name, page_rank, signature, kinds, None, place, doc, is_built_in=True)


BUILT_IN: dict[str, Callable[[str], PythonRelation]] = {
    "kmeans": Algorithm("KMeans", ("n_clusters",)),
    "linearregression": Algorithm("LinearRegression"),
    "logisticregression": Algorithm("LogisticRegression"),
    "pagerank": _page_rank,
}
"""Makers of the functions by name; `udf/special_forms.py` has a row with its usage for each."""


@cache
def built_in(name: str) -> PythonRelation:
    """Return the built-in function of that name, which the registry has checked."""
    if name not in BUILT_IN:
        raise InternalError(f'the function "{name}" has no Python function')
    return BUILT_IN[name](name)


def of_rows(name: str) -> PythonRelation:
    """Return a table function of rows; its argument is the query that calls it."""
    signature = inspect.Signature([_Parameter("data", _Parameter.POSITIONAL_OR_KEYWORD)])
    kinds: dict[str, Kind] = {"data": TABLE}
    return PythonRelation(name, lambda data: data, signature, kinds, None, place_of(of_rows), is_built_in=True)


WRONG_RESULT = "39000"
_RESULT_ERRORS = (BindError, DataError, ParameterError, UnsupportedError)


@dataclass(frozen=True, slots=True)
class FunctionResult:
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


def function_result(function: PythonRelation, result: object, session: EngineSession) -> FunctionResult:
    """Return the result of a function as a table. Raise ExecutionError that names the function if it has no rows, or
    does not fit the declared columns.
    """
    if isinstance(result, FunctionResult):
        return result
    if isinstance(result, Estimator):
        return FunctionResult(_given(model_rows(result), None, session), result, is_model=True)
    if isinstance(result, TableRDD):
        return FunctionResult(result if function.columns is None else _as_declared(result, function))
    with wrapping_result_errors(function):
        return FunctionResult(_given(result, function.columns, session))


@contextlib.contextmanager
def wrapping_result_errors(function: PythonRelation) -> Iterator[None]:
    """Name the user's function in errors of its result, but not in errors of blocks, workers and disks."""
    try:
        yield
    except SharkError as error:
        is_its_own = type(error) is ExecutionError or isinstance(error, _RESULT_ERRORS)
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

"""Fitted models as functions of columns: for SQL's predict, and for tables with a prediction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import BindError, ColumnNotFoundError, TypeMismatchError, did_you_mean
from sharkpy.base.records import dataclass
from sharkpy.catalog.function_catalog import ModelFunction
from sharkpy.ml.models.predictor import Predictor
from sharkpy.physical.plan_context import FreshIds
from sharkpy.plan.expr import Alias, ColumnRef, Expr
from sharkpy.plan.logical import LogicalPlan, Project
from sharkpy.sql.expressions.special_forms import model_call
from sharkpy.udf.user.python_code import python_code
from sharkpy.udf.user.scalar import PythonScalar
from sharkpy.values.types import BOOLEAN, DOUBLE, ArrayType, DataType, is_numeric

if TYPE_CHECKING:
    from sharkpy.ml.models.estimator import Estimator
    from sharkpy.ml.models.predictor import Predictor
    from sharkpy.ml.rdd.table_rdd import TableRDD

PREDICT, PROBABILITIES, PROBABILITY = "predict", "predict_proba", "probability"
"""Methods of a row's prediction: the class or number; the probability of each class; of only two classes, the
probability of the second.
"""
LOG_PROBABILITIES, DECISION, DISTANCES = "predict_log_proba", "decision_function", "transform"
"""Methods of a row's scores: the logarithm of each probability; the score of each class, or of the second of two; for
k-means the distance from each centre.
"""
_MODELS = 32
"""Number of models that a process caches."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """Method of a model, called with its features as columns; pickled as the model's text.

    Missing features, which are NaN here, give NULL.
    """

    text: str
    method: str

    def __call__(self, *columns: npt.NDArray[Any]) -> object:
        model = loaded(self.text)
        given = [np.asarray(column, dtype=np.float64) for column in columns]
        missing = np.logical_or.reduce([np.isnan(column) for column in given])
        if not missing.any():
            return _listed(_METHODS[self.method].call(model, given))
        if missing.all():
            return [None] * len(missing)
        known = _METHODS[self.method].call(model, [column[~missing] for column in given])
        values = np.empty((len(missing), *known.shape[1:]), known.dtype)
        values[~missing] = known
        return np.ma.MaskedArray(values, missing) if values.ndim == 1 else _listed(values, missing)


def _listed(values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None) -> object:
    """Return the rows of a matrix as lists, with None for missing rows. Return other arrays unchanged."""
    if values.ndim == 1:
        return values
    rows = values.tolist()
    return rows if missing is None else [None if missing[place] else row for place, row in enumerate(rows)]


@dataclass(frozen=True, slots=True)
class _Method:
    call: Callable[[Any, list[npt.NDArray[Any]]], npt.NDArray[Any]]
    result: Callable[[Any], DataType]
    needs: str
    """Method that the model's own class has to have for it."""


def _of_matrix(method: str) -> Callable[[Any, list[npt.NDArray[Any]]], npt.NDArray[Any]]:
    """Call the model's own method of that name on a matrix."""
    return lambda model, columns: getattr(model, method)(np.column_stack(columns))


def _probability(model: Any, columns: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    found: npt.NDArray[Any] = model.predict_proba(np.column_stack(columns))
    return found[:, 1] if _is_binary(model) else found


def _is_binary(model: Any) -> bool:
    return len(model.classes_) == 2


def _number_or_list(model: Any) -> DataType:
    return DOUBLE if _is_binary(model) else ArrayType(DOUBLE)


def _list(_: Any) -> DataType:
    return ArrayType(DOUBLE)


_METHODS: dict[str, _Method] = {
    PREDICT: _Method(
        lambda model, columns: model.predict_arrays(columns), lambda model: model.prediction_type, "predict_arrays"
    ),
    PROBABILITY: _Method(_probability, _number_or_list, "predict_proba"),
    PROBABILITIES: _Method(_of_matrix(PROBABILITIES), _list, PROBABILITIES),
    LOG_PROBABILITIES: _Method(_of_matrix(LOG_PROBABILITIES), _list, LOG_PROBABILITIES),
    DECISION: _Method(_of_matrix(DECISION), _number_or_list, DECISION),
    DISTANCES: _Method(_of_matrix(DISTANCES), _list, DISTANCES),
}


@lru_cache(_MODELS)
def loaded(text: str) -> Predictor:
    """Read a model from a text. Raise BindError if it cannot predict."""
    from sharkpy.ml.models.estimator import Estimator

    return _predictor(Estimator.from_json(text))


def _predictor(model: Estimator) -> Predictor:
    if not isinstance(model, Predictor):
        raise BindError(f"a {type(model).__name__} does not predict")
    return model


def has_method(model: Estimator, method: str) -> bool:
    return hasattr(model, _METHODS[method].needs)


@lru_cache(_MODELS)
def function_of(text: str, method: str, name: str | None = None) -> ModelFunction:
    """Return a method of the model in a text of the table `name`. Raise BindError if the model has no such method."""
    model = loaded(text)
    if not has_method(model, method):
        raise BindError(f"a {type(model).__name__} has no {method}")
    features = tuple(map(str, model.feature_names_in_))
    result = _METHODS[method].result(model)
    code = python_code(method, ModelCall(text, method))
    called = method if name is None else f"{method}('{name}')"
    return ModelFunction(PythonScalar(called, code, (DOUBLE,) * len(features), result), features, result)


def with_prediction(table: TableRDD, model: Predictor, name: str | None = None, method: str = PREDICT) -> TableRDD:
    """Return the rows of `table` with a column `name` (default: the model's choice) of the results of `method`.

    The columns with the names of the model's features are its input; if one is NULL, so is the new column. Nothing is
    computed yet.
    """
    return with_predictions(table, model, {name or model.prediction_column: method})


def with_predictions(table: TableRDD, model: Predictor, methods: Mapping[str, str]) -> TableRDD:
    """Return rows with several new columns by name, each of a method. Errors of columns are raised now."""
    text = model.to_json()
    return table.changed(lambda plan: _projected(plan, type(model).__name__, text, methods))


def _projected(plan: LogicalPlan, kind: str, text: str, methods: Mapping[str, str]) -> LogicalPlan:
    taken = {column.name.lower() for column in plan.output}
    ids = FreshIds(plan)
    items: list[Alias | ColumnRef] = list(plan.output)
    for name, method in methods.items():
        if name.lower() in taken:
            message = f'the table has a column "{name}" already, which a {kind} adds'
            raise BindError(message, hint="rename it in a query", sqlstate="42701")
        function = function_of(text, method)
        features = tuple(_feature(plan, kind, one) for one in function.features)
        items.append(ids.alias(model_call(function, features), name))
    return Project(plan, tuple(items))


def _feature(plan: LogicalPlan, kind: str, name: str) -> Expr:
    found = [column for column in plan.output if column.name.lower() == name.lower()]
    if not found:
        hint = did_you_mean(name, [column.name for column in plan.output])
        raise ColumnNotFoundError(f'the table has no column "{name}", a feature of the {kind}', hint=hint)
    if len(found) > 1:
        raise BindError(f'the table has several columns "{name}", a feature of the {kind}', sqlstate="42702")
    if not is_numeric(found[0].dtype) and found[0].dtype != BOOLEAN:
        raise TypeMismatchError(f'the feature "{name}" of the {kind} is a number, and the column is {found[0].dtype}')
    return found[0]

"""Tables with further columns: a model's output for each row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sharkpy.base.errors import BindError, ColumnNotFoundError, TypeMismatchError, did_you_mean
from sharkpy.ml.generate.model_function import PREDICT, function_of
from sharkpy.physical.plan_context import FreshIds
from sharkpy.plan.expr import Alias, ColumnRef, Expr
from sharkpy.plan.logical import LogicalPlan, Project
from sharkpy.sql.expressions.special_forms import model_call
from sharkpy.values.types import BOOLEAN, is_numeric

if TYPE_CHECKING:
    from sharkpy.ml.models.predictor import Predictor
    from sharkpy.ml.rdd.table_rdd import TableRDD


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

"""Models as tables: rows that show the fitted values, and the model's text in the property `shark.model`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sharkpy.base.errors import BindError, TableExistsError
from sharkpy.catalog.function_catalog import ModelFunction
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.names import TableName, check_name, qualified
from sharkpy.execution.commands.create_table import create_table
from sharkpy.execution.tables.snapshot import reading
from sharkpy.ml.generate.model_function import function_of
from sharkpy.ml.models.estimator import Estimator
from sharkpy.ml.tables.program_data import given_rows
from sharkpy.plan.commands import CreateTable
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import Given

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession

MODEL = "shark.model"
"""Property of a table that holds a model's text."""
INTERCEPT = "(intercept)"
NOT_A_MODEL = "42809"


def check_free(session: EngineSession, name: TableName) -> None:
    """Raise an error if a table of that name exists, if its database does not, or if the name is invalid."""
    check_name(name[1])
    session.catalog.database(name[0])
    if session.catalog.find_table(*name) is not None:
        raise TableExistsError(f'table "{name[1]}" already exists')


def save_model(session: EngineSession, model: Estimator, name: str, *, replace: bool = False) -> None:
    """Create a table `name` that holds the model. Raise TableExistsError if it exists, unless `replace` is given."""
    database, short = qualified(name, session.current_database)
    if not replace:
        check_free(session, (database, short))
    model.check_fitted()
    rows = given_rows(session, model_rows(model), None)
    columns = tuple(ColumnRef(index, field.name, field.dtype) for index, field in enumerate(rows.schema, start=1))
    command = CreateTable(
        database,
        short,
        TableKind.MANAGED,
        rows.schema,
        if_not_exists=False,
        properties=((MODEL, model.to_json()),),
        comment=f"the model {model!r}",
        query=Given(columns, rows),
        or_replace=replace,
    )
    with reading(session.snapshot, None) as snapshot:
        create_table(command, session, snapshot)


def load_model(session: EngineSession, name: str) -> Estimator:
    """Load the model of the table `name`. Raise TableNotFoundError, or BindError if the table holds no model."""
    return Estimator.from_json(_text(session.catalog.table(*qualified(name, session.current_database))))


def model_function(table: Table, method: str) -> ModelFunction:
    """Return the method `predict` or `predict_proba` of the model in `table`, as SQL calls it."""
    return function_of(_text(table), method, table.qualified_name)


def _text(table: Table) -> str:
    text = dict(table.properties).get(MODEL)
    if text is None:
        hint = "GENERATE … model => 'name' and ctx.save_model make models"
        raise BindError(f'table "{table.name}" holds no model', hint=hint, sqlstate=NOT_A_MODEL)
    return text


# Rows of a model's table


def model_rows(model: Estimator) -> pa.Table:
    """Return rows that show a model, by its class. The default is one row per feature with its fitted values."""
    return _ROWS.get(type(model).__name__, _by_feature)(model)


def _centers(model: Any) -> pa.Table:
    features = list(map(str, model.feature_names_in_))
    centers = np.asarray(model.cluster_centers_, dtype=np.float64)
    return pa.table(
        {
            "cluster": pa.array(np.repeat(np.arange(len(centers)), len(features)), pa.int32()),
            "feature": features * len(centers),
            "center": centers.ravel(),
        }
    )


def _coefficients(model: Any) -> pa.Table:
    """Return the coefficients by feature, then the intercept."""
    features = [*map(str, model.feature_names_in_), INTERCEPT]
    weights = np.append(np.ravel(model.coef_), np.ravel(model.intercept_)).astype(np.float64)
    return pa.table({"feature": features, "coefficient": weights})


def _class_coefficients(model: Any) -> pa.Table:
    """Return coefficients by class and feature. Of two classes only the second is shown: the first has the negated
    values.
    """
    features = [*map(str, model.feature_names_in_), INTERCEPT]
    coefficients = np.asarray(model.coef_, dtype=np.float64)
    weights = np.column_stack([coefficients, np.broadcast_to(model.intercept_, len(coefficients))])
    classes = [str(label) for label in list(model.classes_)[-len(weights) :]]
    return pa.table(
        {
            "class": np.repeat(np.array(classes, dtype=object), len(features)),
            "feature": features * len(weights),
            "coefficient": weights.ravel(),
        }
    )


def _by_feature(model: Any) -> pa.Table:
    features = list(map(str, model.feature_names_in_))
    columns: dict[str, Any] = {"feature": features}
    for name, value in model.fitted_state().items():
        array = np.asarray(value, dtype=object) if isinstance(value, list) else np.asarray(value)
        if array.shape == (len(features),) and array.dtype.kind in "fiu":
            columns[name.rstrip("_").lower()] = array.astype(np.float64)
    return pa.table(columns)


_ROWS: dict[str, Callable[[Any], pa.Table]] = {
    "KMeans": _centers,
    "LinearRegression": _coefficients,
    "LogisticRegression": _class_coefficients,
    "StreamingKMeans": _centers,
}

"""predict('model', feature, …) and predict_proba: the model in a table as a function of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import BindError, SharkError, TableNotFoundError, TypeMismatchError
from sharkpy.catalog.names import qualified
from sharkpy.plan.expr import Call, Expr, Literal
from sharkpy.sql.expressions.coercion import cast
from sharkpy.sql.expressions.function_names import function_name
from sharkpy.udf.user.function import intern
from sharkpy.values.types import BOOLEAN, DOUBLE, NULL, StringType, is_numeric

if TYPE_CHECKING:
    from sharkpy.catalog.function_catalog import ModelFunction
    from sharkpy.sql.expressions.expr_binder import ExprBinder


def bind_predict(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind predict. The features are numbers or booleans, as many as the model has. A NULL feature gives NULL."""
    method, arguments = function_name(node), list(node.expressions)
    match [binder.bind(one) for one in arguments[:1]]:
        case [Literal(str(name), StringType())]:
            model = _model(binder, name, method, node)
        case _:
            hint = f"{method}('model', feature, …)"
            message = f"the first argument of {method} is the name of a model in quotes"
            raise binder.context.error(message, node, TypeMismatchError, hint)
    features = tuple(map(binder.bind, arguments[1:]))
    if len(features) != len(model.features):
        message = (
            f'the model "{name}" takes {len(model.features)} features ({", ".join(model.features)}), '
            f"and {len(features)} {'is' if len(features) == 1 else 'are'} given"
        )
        raise binder.context.error(message, node, TypeMismatchError)
    for feature, value in zip(model.features, features, strict=True):
        if not is_numeric(value.dtype) and value.dtype not in (BOOLEAN, NULL):
            message = f'the feature "{feature}" of the model "{name}" is a number, and {value} is {value.dtype}'
            raise binder.context.error(message, node, TypeMismatchError)
    return model_call(model, features)


def model_call(model: ModelFunction, features: tuple[Expr, ...]) -> Call:
    """Return the call of a model's function with the values of its features."""
    function = intern(model.function)
    return Call(function.key, tuple(cast(one, DOUBLE) for one in features), model.result)


def _model(binder: ExprBinder, name: str, method: str, node: exp.Expr) -> ModelFunction:
    context = binder.context
    try:
        return context.catalog.model_function(context.catalog.table(*qualified(name, context.database)), method)
    except TableNotFoundError as error:
        raise context.error(f'no model "{name}"', node, TableNotFoundError, error.hint) from None
    except SharkError as error:
        kind = type(error) if isinstance(error, BindError) else BindError
        raise context.error(error.message, node, kind, error.hint, error.sqlstate) from None

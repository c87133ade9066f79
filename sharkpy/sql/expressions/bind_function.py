"""Function calls: scalar functions and aggregates, by their rows in the registry."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import BindError, FunctionNotFoundError, TypeMismatchError, UnsupportedError, did_you_mean
from sharkpy.base.settings import TIME_ZONE
from sharkpy.base.time_zone import zone_name
from sharkpy.base.users import groups_of, user_name
from sharkpy.plan.expr import AggregateCall, Call, Cast, Expr, Literal, PythonValue
from sharkpy.plan.references import column_ids
from sharkpy.sql.expressions.aggregate_clauses import (
    AGGREGATES_OF_WINDOWS,
    NULL_SKIPPING,
    check_constants,
    without_nulls,
)
from sharkpy.sql.expressions.bind_macro import bind_macro
from sharkpy.sql.expressions.bind_name import GROUPING_ID, MOST_BITS, resolve
from sharkpy.sql.expressions.bind_time_window import bind_row_window, bind_session_window, bind_window
from sharkpy.sql.expressions.coercion import cast_all, with_minimal_literals
from sharkpy.sql.expressions.special_forms import (
    UNIT_CALLS,
    bind_from_json,
    bind_make_interval,
    bind_predict,
    bind_schema_of_json,
    bind_struct,
)
from sharkpy.sql.object_names import called_macro, function_name, registry_name
from sharkpy.udf import registry
from sharkpy.udf.function import AggregateFunction, ScalarFunction, TypeRule, WindowFunction
from sharkpy.udf.higher_order_functions import HigherOrderFunction
from sharkpy.udf.special_forms import CAST_FORMS
from sharkpy.udf.unavailable_functions import INSTEAD
from sharkpy.udf.user.function import MARK, shown_name
from sharkpy.values.types import BIGINT, INT, PRIMITIVES, ArrayType, DataType

if TYPE_CHECKING:
    from sharkpy.sql.context import Context
    from sharkpy.sql.expressions.expr_binder import ExprBinder

GROUPING = "grouping"

# Functions that return one of their arguments: next to a DECIMAL, their integer literals become exact decimals, too.
_MIXING = ("coalesce", "nvl", "greatest", "least", "case_when")

_EXTRACTS = {
    "year": "year",
    "quarter": "quarter",
    "month": "month",
    "week": "weekofyear",
    "day": "day",
    "dayofweek": "dayofweek",
    "dow": "dayofweek",
    "doy": "dayofyear",
    "hour": "hour",
    "minute": "minute",
    "second": "second",
}
_SYMBOLS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "div": "div",
    "mod": "%",
    "bit_and": "&",
    "bit_or": "|",
    "bit_xor": "^",
}
"""Operators as they appear in messages."""
_CLOCKS: dict[str, Callable[[datetime.datetime], PythonValue]] = {
    "current_date": lambda now: now.date(),
    "current_timestamp": lambda now: now.replace(tzinfo=None),
    "unix_timestamp": lambda now: int(now.timestamp()),
}
"""Functions without arguments that return the time of the statement."""
_OF_SESSION: dict[str, Callable[[Context], PythonValue]] = {
    "current_database": lambda context: context.database,
    "current_timezone": lambda context: zone_name(context.conf.value(TIME_ZONE)),
    "current_user": lambda context: user_name(context.conf),
    "logged_in_user": lambda context: user_name(context.conf),
    "current_groups": lambda context: groups_of(user_name(context.conf)),
}
_LAST_POSITION = (1 << 31) - 1
_TYPE_FUNCTIONS = PRIMITIVES | {form.name: form.target for form in CAST_FORMS}
_NO_PAREN: dict[type[exp.Expr], str] = {
    exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentUser: "current_user",
}


def call_scalar(binder: ExprBinder, name: str, args: Sequence[Expr], node: exp.Expr) -> Expr:
    """Call the registry's scalar function `name`, with its arguments cast as its row says."""
    row = registry.scalar(name)
    if row is None:
        raise unknown_function(binder, name, node)
    return scalar_call(binder, row, args, node)


def scalar_call(binder: ExprBinder, row: ScalarFunction, args: Sequence[Expr], node: exp.Expr) -> Expr:
    if row.name in _MIXING:
        args = with_minimal_literals(args)
    targets = argument_types(binder, row.name, row.arguments, args, node)
    if not args and row.name in _CLOCKS:
        return Literal(_CLOCKS[row.name](binder.context.now), row.result(targets))
    if row.name in _OF_SESSION:
        return Literal(_OF_SESSION[row.name](binder.context), row.result(targets))
    cast_args = cast_all(args, targets)
    if row.name == "concat":
        cast_args = _joined_at_once(cast_args)
    if row.literal_result is not None:
        return Call(row.name, cast_args, row.literal_result(targets, literal_values(cast_args)))
    return Call(row.name, cast_args, row.result(targets))


def _joined_at_once(args: Sequence[Expr]) -> tuple[Expr, ...]:
    """Arguments of a concat, with nested concats replaced by their own arguments."""
    joined: list[Expr] = []
    for arg in args:
        joined += arg.args if isinstance(arg, Call) and arg.function == "concat" else (arg,)
    return tuple(joined)


def literal_values(args: Sequence[Expr]) -> list[object]:
    """Return the values of constant arguments, and None for other arguments."""
    return [arg.value if isinstance(arg, Literal) else _constant(arg) for arg in args]


def _constant(arg: Expr) -> object:
    """Return the value of a call over only literals, such as concat('a', 'b'); None for other expressions."""
    from sharkpy.optimizer.evaluate import evaluate
    from sharkpy.optimizer.function_traits import is_deterministic_function

    for part in arg.walk():
        is_call = isinstance(part, Call) and is_deterministic_function(part.function) and MARK not in part.function
        if not is_call and not isinstance(part, (Cast, Literal)):
            return None
    found = evaluate([arg])[0]
    return None if found is None else found.value


def argument_types(
    binder: ExprBinder, name: str, rule: TypeRule, args: Sequence[Expr], node: exp.Expr
) -> Sequence[DataType]:
    """Return the types to which a function's arguments are cast.

    Raise TypeMismatchError if the function does not take the arguments.
    """
    targets = rule([arg.dtype for arg in args])
    if targets is None:
        if name in _SYMBOLS and len(args) == 2:
            message = f"{args[0].dtype} {_SYMBOLS[name]} {args[1].dtype} is not defined"
            raise binder.context.error(message, node, TypeMismatchError)
        raise wrong_arguments(binder, name, args, node)
    return targets


def wrong_arguments(binder: ExprBinder, name: str, args: Sequence[Expr], node: exp.Expr) -> Exception:
    """Return the error for arguments that a function does not take, with its name as written and its usage."""
    given = ", ".join(str(arg.dtype) for arg in args) or "nothing"
    written = function_name(node) if isinstance(node, exp.Anonymous) else shown_name(name)
    message = f"the function {written} does not take ({given})"
    row = registry.scalar(name) or registry.aggregate(name) or registry.window(name)
    hint = None if row is None or MARK in name else row.usage_as(written)
    return binder.context.error(message, node, TypeMismatchError, hint and f"it is called as {hint}")


def unknown_function(binder: ExprBinder, name: str, node: exp.Expr) -> Exception:
    """Return the error for the call of an unknown function, or of one that queries may not call."""
    if registry.relation_function(name):
        message = f"the function {shown_name(name)} is of whole tables: GENERATE calls it, a query does not"
        return binder.context.error(message, node, sqlstate="42809")
    if reason := registry.refused(name):
        return binder.context.error(f"the function {name} is not supported: {reason}", node, UnsupportedError)
    instead = INSTEAD.get(name)
    hint = f"write {instead}" if instead else did_you_mean(name, registry.written_names())
    return binder.context.error(f'no function "{name}"', node, FunctionNotFoundError, hint)


def bind_no_paren(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind functions without parentheses, such as CURRENT_DATE."""
    return call_scalar(binder, _NO_PAREN[type(node)], (), node)


def bind_extract(binder: ExprBinder, node: exp.Expr) -> Expr:
    unit = node.this.name.lower()
    if unit not in _EXTRACTS:
        hint = did_you_mean(unit, _EXTRACTS)
        raise binder.context.error(f'EXTRACT has no field "{unit}"', node, BindError, hint)
    return call_scalar(binder, _EXTRACTS[unit], (binder.bind(node.expression),), node)


def _bind_date_part(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind date_part('unit', x), which is EXTRACT(unit FROM x)."""
    if len(node.expressions) != 2:
        raise binder.context.error("date_part takes a unit and a time", node, TypeMismatchError)
    unit, value = node.expressions
    return bind_extract(binder, exp.Extract(this=exp.Var(this=unit.name), expression=value))


def bind_function(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind a call by name: a special form, an aggregate, or a scalar function."""
    from sharkpy.sql.expressions.bind_lambda import bind_higher_order

    if macro := called_macro(binder.context, node):
        return bind_macro(binder, macro, node)
    name = registry_name(binder.context, node)
    name = AGGREGATES_OF_WINDOWS.get(name, name)
    if special := _SPECIAL_FORMS.get(name):
        return special(binder, node)
    if row := registry.aggregate(name):
        return bind_aggregate(binder, row, node, None)
    if scalar := registry.scalar(name):
        if isinstance(scalar, HigherOrderFunction):
            return bind_higher_order(binder, scalar, node)
        plain_arguments(binder, node)
        return scalar_call(binder, scalar, bind_arguments(binder, node), node)
    if name in _TYPE_FUNCTIONS and len(node.expressions) == 1:
        return _bind_type_function(binder, _TYPE_FUNCTIONS[name], node)
    if registry.window(name):
        raise binder.context.error(f"the window function {name} needs OVER (…)", node)
    if registry.table_function(name):
        message = f"the table function {shown_name(name)} must be the only item of the select list, or in LATERAL VIEW"
        raise binder.context.error(message, node)
    raise unknown_function(binder, name, node)


def plain_arguments(binder: ExprBinder, node: exp.Expr) -> None:
    for arg in node.expressions:
        if isinstance(arg, exp.Distinct):
            raise binder.context.error(f"{function_name(node)} is not an aggregate, so it takes no DISTINCT", node)
        if isinstance(arg, exp.Lambda):
            message = f"{function_name(node)} takes no function as argument"
            raise binder.context.error(message, node, TypeMismatchError)


def bind_arguments(binder: ExprBinder, node: exp.Expr) -> tuple[Expr, ...]:
    """Bind the arguments of a call. `*` and `t.*` are expanded to columns, as in a select list."""
    args: list[Expr] = []
    for arg in node.expressions:
        columns = binder.context.expand_star(binder.context, binder.scope, arg)
        args += [binder.bind(arg)] if columns is None else columns
    return tuple(args)


def bind_filter(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind aggregate(…) FILTER (WHERE …)."""
    from sharkpy.sql.expressions.aggregate_clauses import plain_call

    call = plain_call(binder, node.this) if isinstance(node.this, exp.WithinGroup) else node.this
    name = registry_name(binder.context, call) if isinstance(call, exp.Anonymous) else ""
    row = registry.aggregate(AGGREGATES_OF_WINDOWS.get(name, name))
    if row is None:
        raise binder.context.error("FILTER is for aggregates", node)
    return bind_aggregate(binder, row, node.this, node.expression.this)


def _is_of_outer_query(binder: ExprBinder, row: AggregateFunction, node: exp.Expr) -> bool:
    """Return whether an aggregate in a subquery, such as one in HAVING, is over columns of the outer query."""
    from sharkpy.sql.expressions.expr_binder import AGGREGATE

    outer = binder.scope.parent
    if outer is None or not outer.takes_aggregates or row.name in NULL_SKIPPING:
        return False
    args, _ = aggregate_arguments(binder.within(AGGREGATE), row, node)
    used = {column for arg in args for column in column_ids(arg)}
    own = {column for one in outer.columns for column in column_ids(one.expr)}
    return bool(used) and used <= own


def bind_aggregate(
    binder: ExprBinder, row: AggregateFunction, node: exp.Expr, condition: exp.Expr | None
) -> AggregateCall:
    from sharkpy.sql.expressions.expr_binder import AGGREGATE, FILTER

    if not binder.clause.aggregates and not _is_of_outer_query(binder, row, node):
        message = f"the aggregate {shown_name(row.name)} is not allowed in {binder.clause.name}"
        hint = "HAVING filters groups" if binder.clause.name == "WHERE" else None
        raise binder.context.error(message, node, hint=hint, sqlstate="42803")
    if row.name in NULL_SKIPPING:
        node, condition = without_nulls(node, condition)
    inside = binder.within(AGGREGATE)
    args, distinct = aggregate_arguments(inside, row, node)
    filter_expr = binder.within(FILTER).predicate(condition) if condition is not None else None
    dtype = aggregate_type(row, args)
    return AggregateCall(row.name, args, dtype, distinct and not row.ignores_distinct, filter_expr)


def aggregate_type(row: AggregateFunction | WindowFunction, args: Sequence[Expr]) -> DataType:
    """Return the result type of an aggregate or window function with cast arguments."""
    if not args and row.name == "count":
        return BIGINT
    types = [arg.dtype for arg in args]
    if isinstance(row, AggregateFunction) and row.literal_result is not None:
        return row.literal_result(types, literal_values(args))
    return row.result(types)


def aggregate_arguments(
    binder: ExprBinder, row: AggregateFunction | WindowFunction, node: exp.Expr
) -> tuple[tuple[Expr, ...], bool]:
    """Return the cast arguments, and whether DISTINCT was written. `count(*)` and `count(1)` have no arguments."""
    nodes, distinct = list(node.expressions), False
    if nodes and isinstance(nodes[0], exp.Distinct):
        nodes, distinct = list(nodes[0].expressions), True
        if not nodes:
            raise binder.context.error(f"{row.name}(DISTINCT) needs an argument", node)
    if row.name == "count" and len(nodes) == 1 and not distinct:
        if isinstance(nodes[0], exp.Star):
            binder.context.only(nodes[0])
            return (), False
        if isinstance(nodes[0], (exp.Literal, exp.Boolean)):
            return (), False
    if any(isinstance(item, exp.Star) for item in nodes):
        written = "DISTINCT *" if distinct else "*"
        hint = "name the columns" if row.name == "count" else None
        raise binder.context.error(f"{row.name}({written}) is not defined", node, TypeMismatchError, hint)
    args = tuple(map(binder.bind, nodes))
    if row.name == "count" and not args:
        raise binder.context.error("count() needs an argument or *", node, TypeMismatchError)
    cast_args = cast_all(args, argument_types(binder, row.name, row.arguments, args, node))
    check_constants(binder, row, cast_args, node)
    return cast_args, distinct


def _bind_if(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind IF(condition, then[, else])."""
    from sharkpy.sql.expressions.operators import case_when
    from sharkpy.values.types import NULL

    if len(node.expressions) not in (2, 3):
        raise binder.context.error("IF takes a condition and two values", node, TypeMismatchError)
    condition, *values = node.expressions
    bound = [binder.bind(value) for value in values]
    return case_when(
        binder, [binder.predicate(condition)], bound if len(bound) == 2 else [*bound, Literal(None, NULL)], node
    )


def _bind_type_function(binder: ExprBinder, target: DataType, node: exp.Expr) -> Expr:
    """Bind int(x), string(x) and similar functions as casts."""
    from sharkpy.sql.expressions.bind_literal import cast_checked

    return cast_checked(binder, binder.bind(node.expressions[0]), target, node)


def _bind_element_at(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind element_at. It counts from 1, or from the end if negative; brackets count from 0."""
    args = tuple(map(binder.bind, node.expressions))
    match args:
        case (container, Literal(int() as position)) if isinstance(container.dtype, ArrayType):
            if abs(position) > _LAST_POSITION:
                return Literal(None, container.dtype.element)
            if position > 0:
                return call_scalar(binder, "element_at", (container, Literal(position - 1, INT)), node)
            size = call_scalar(binder, "size", (container,), node)
            index = call_scalar(binder, "add", (size, Literal(position, INT)), node)
            return call_scalar(binder, "element_at", (container, index), node)
        case (container, _) if isinstance(container.dtype, ArrayType):
            return call_scalar(binder, "try_element_at", args, node)
    return call_scalar(binder, "element_at", args, node)


def _bind_grouping(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind grouping(column, …): one bit for each column, set if the row's grouping set does not contain it."""
    if not node.expressions or not binder.clause.aggregates:
        message = "grouping() takes grouping columns, in SELECT, HAVING or ORDER BY"
        raise binder.context.error(message, node, sqlstate="42803")
    if len(node.expressions) > MOST_BITS:
        message = f"grouping() has bits for {MOST_BITS} columns, not {len(node.expressions)}"
        raise binder.context.error(message, node, sqlstate="54000")
    args = tuple(map(binder.bind, node.expressions))
    return AggregateCall(GROUPING, args, INT if len(args) == 1 else BIGINT)


def _bind_grouping_id(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind grouping_id(), which is GROUPING__ID. With columns as arguments, bind it as grouping()."""
    return _bind_grouping(binder, node) if node.expressions else resolve(binder, ["grouping__id"], node)


_SPECIAL_FORMS: dict[str, Callable[[ExprBinder, exp.Expr], Expr]] = {
    "struct": bind_struct,
    "if": _bind_if,
    "element_at": _bind_element_at,
    "date_part": _bind_date_part,
    "datepart": _bind_date_part,
    **UNIT_CALLS,
    "from_json": bind_from_json,
    "schema_of_json": bind_schema_of_json,
    "make_interval": bind_make_interval,
    "window": bind_window,
    "session_window": bind_session_window,
    "row_window": bind_row_window,
    "predict": bind_predict,
    "predict_proba": bind_predict,
    GROUPING: _bind_grouping,
    GROUPING_ID: _bind_grouping_id,
}

"""Macros: expressions over parameters, bound at each call with the cast arguments in place of parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import BindError, ParseError, SharkError, TypeMismatchError
from sharkpy.catalog.function_catalog import Macro
from sharkpy.plan.expr import Alias, ColumnRef, Expr
from sharkpy.plan.logical import LogicalPlan, Project
from sharkpy.plan.references import substitute, substitute_plan
from sharkpy.sql.context import Context
from sharkpy.sql.expressions.coercion import cast, cast_all
from sharkpy.sql.grammar.parser import parse
from sharkpy.sql.object_names import called_macro, function_name
from sharkpy.sql.scope import relation_scope

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder

_open_macros: ContextVar[tuple[str, ...]] = ContextVar("open_macros", default=())
"""Macros whose expressions are being bound, outermost first."""


def bind_macro(binder: ExprBinder, macro: Macro, node: exp.Expr) -> Expr:
    """Bind a macro's expression over the call's arguments, each cast to the type of its parameter."""
    if len(node.expressions) != len(macro.parameters):
        message = f"the {macro.kind} {macro.signature} does not take {len(node.expressions)} arguments"
        raise binder.context.error(message, node, TypeMismatchError)
    if macro.columns:
        message = f"the table function {macro.name} is called in FROM"
        raise binder.context.error(message, node, BindError, f"SELECT … FROM {macro.signature}")
    args = tuple(map(binder.bind, node.expressions))
    with _opened(macro, binder.context, node):
        try:
            expr, columns = macro_expression(macro, binder.context)
        except SharkError as error:
            hint = f"in the {macro.kind} {macro.signature} {macro.text}"
            raise binder.context.error(error.message, node, type(error), hint, error.sqlstate) from None
    if not binder.context.budget.take_copy(expr):
        raise binder.context.too_large(node)
    _check_repeated(binder, macro, expr, columns, args, node)
    taken = cast_all(args, [dtype for _, dtype in macro.parameters])
    if macro.result is not None:
        expr = cast(expr, macro.result)
    return substitute(expr, {column.column_id: arg for column, arg in zip(columns, taken, strict=True)})


def bind_table_macro(binder: ExprBinder, macro: Macro, node: exp.Expr) -> LogicalPlan:
    """Bind the query of a table function, with the call's arguments in place of its parameters."""
    if len(node.expressions) != len(macro.parameters):
        message = f"the function {macro.signature} does not take {len(node.expressions)} arguments"
        raise binder.context.error(message, node, TypeMismatchError)
    if not binder.context.budget.take_table():
        raise binder.context.too_many_tables(node)
    args = cast_all(tuple(map(binder.bind, node.expressions)), [dtype for _, dtype in macro.parameters])
    with _opened(macro, binder.context, node):
        try:
            plan, columns = macro_query(macro, binder.context)
        except SharkError as error:
            hint = f"in the function {macro.signature} {macro.text}"
            raise binder.context.error(error.message, node, type(error), hint, error.sqlstate) from None
    return substitute_plan(plan, {column.column_id: arg for column, arg in zip(columns, args, strict=True)})


def macro_query(macro: Macro, context: Context) -> tuple[LogicalPlan, tuple[ColumnRef, ...]]:
    """Bind the query of a table function. Return it with the columns that represent its parameters."""
    columns = tuple(context.column(name, dtype) for name, dtype in macro.parameters)
    own = replace(inner_context(macro, context), text=macro.text)
    plan = own.bind_query(parse(macro.text), own, relation_scope(macro.name, None, columns, None))
    return with_columns_of(macro, plan, context), columns


def with_columns_of(macro: Macro, plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Cast and rename the rows of a table function's query to its declared columns."""
    if len(plan.output) != len(macro.columns):
        raise BindError(f"{macro.name} returns {len(macro.columns)} columns, its query has {len(plan.output)}")
    pairs = zip(plan.output, macro.columns, strict=True)
    return Project(plan, tuple(Alias(cast(found, dtype), next(context.ids), name) for found, (name, dtype) in pairs))


def macro_expression(macro: Macro, context: Context) -> tuple[Expr, tuple[ColumnRef, ...]]:
    """Bind the expression of a macro. Return it with the columns that represent its parameters."""
    from sharkpy.sql.expressions.expr_binder import Clause, ExprBinder

    columns = tuple(context.column(name, dtype) for name, dtype in macro.parameters)
    own = replace(inner_context(macro, context), text=f"SELECT {macro.text}")
    items = parse(own.text).expressions
    if len(items) != 1 or isinstance(items[0], (exp.Alias, exp.Star)):
        raise ParseError(f"a {macro.kind} is one expression")
    scope = relation_scope(macro.name, None, columns, None)
    return ExprBinder(own, scope, Clause(f"a {macro.kind}")).bind(items[0]), columns


def inner_context(macro: Macro, context: Context) -> Context:
    """Return the context for the text of a macro or function."""
    return replace(context, ctes={}, kept=None, database=macro.database or context.database)


def parsed(macro: Macro) -> exp.Expr:
    return parse(macro.text if macro.columns else f"SELECT {macro.text}")


def check_calls(macro: Macro, context: Context) -> None:
    """Raise BindError if a macro or function calls itself, directly or indirectly."""
    waiting, seen = [macro], {macro.key}
    while waiting:
        outer = waiting.pop()
        inside = inner_context(outer, context)
        for node in parsed(outer).find_all(exp.Anonymous):
            name = function_name(node)
            inner = called_macro(inside, node)
            is_same = inner is None and macro.key in (name, f"{inside.database}.{name}")
            if is_same or (inner is not None and inner.key == macro.key):
                raise BindError(f"the {macro.kind} {macro.name} calls itself")
            if inner is not None and inner.key not in seen:
                seen.add(inner.key)
                waiting.append(inner)


def _check_repeated(
    binder: ExprBinder, macro: Macro, expr: Expr, columns: Sequence[ColumnRef], args: Sequence[Expr], node: exp.Expr
) -> None:
    """Refuse an argument such as rand() for a parameter that occurs several times. It must have one value in a call."""
    from sharkpy.optimizer.function_traits import is_deterministic_function

    uses = [part.column_id for part in expr.walk() if isinstance(part, ColumnRef)]
    for column, arg in zip(columns, args, strict=True):
        if not all(binder.context.budget.take_copy(arg) for _ in range(uses.count(column.column_id))):
            raise binder.context.too_large(node)
        calls = [getattr(part, "function", "") for part in arg.walk()]
        if uses.count(column.column_id) > 1 and not all(map(is_deterministic_function, filter(None, calls))):
            construct = f"{arg} for the parameter {column.name} of {macro.name}, which has it in several places,"
            raise binder.context.unsupported(construct, node)


@contextmanager
def _opened(macro: Macro, context: Context, node: exp.Expr) -> Iterator[None]:
    outer = _open_macros.get()
    if macro.key in outer:
        raise context.error(f"the {macro.kind} {macro.name} calls itself", node, BindError)
    token = _open_macros.set((*outer, macro.key))
    try:
        yield
    finally:
        _open_macros.reset(token)

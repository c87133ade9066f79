"""Table functions in FROM, LATERAL VIEW and lateral joins."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sharkpy.base.errors import TypeMismatchError
from sharkpy.plan.expr import Call, ColumnRef, Expr, Literal, is_true
from sharkpy.plan.logical import Filter, Generate, Join, JoinKind, LogicalPlan, Step, Values
from sharkpy.plan.row_steps import TableFunctionStep
from sharkpy.sql.context import Context
from sharkpy.sql.expressions import expr_binder
from sharkpy.sql.expressions.bind_function import argument_types, bind_arguments, literal_values, unknown_function
from sharkpy.sql.expressions.coercion import cast_all, unify
from sharkpy.sql.object_names import function_name, registry_name
from sharkpy.udf import registry
from sharkpy.udf.duckdb_sql import lower_literal
from sharkpy.udf.user.function import FunctionUse, constant_values, find
from sharkpy.values.types import ArrayType, DataType, StructType


def bind_generator(
    binder: expr_binder.ExprBinder, node: exp.Expr, names: Sequence[str]
) -> tuple[Call, tuple[ColumnRef, ...]]:
    """Bind a call of a table function and its output columns, under `names` if there are any."""
    context = binder.context
    if not isinstance(node, exp.Anonymous):
        raise context.error("a table function expected", node)
    function = function_name(node)
    known = registry_name(context, node)
    row = registry.table_function(known)
    if row is None:
        if registry.scalar(known) or registry.aggregate(known):
            raise context.error(f"{function} is not a table function", node)
        raise unknown_function(binder, known, node)
    args = bind_arguments(binder, node)
    if row.name == "stack":
        args, fields = _stack(context, args, node)
    else:
        targets = argument_types(binder, row.name, row.arguments, args, node)
        args = cast_all(args, targets)
        if row.literal_columns is not None:
            fields = list(row.literal_columns(targets, literal_values(args)))
        else:
            fields = list(row.columns(targets))
    if names and len(names) != len(fields):
        message = f"{function} yields {len(fields)} columns, {len(names)} names are given"
        raise context.error(message, node, sqlstate="42811")
    columns = tuple(
        context.column(names[index] if names else name, dtype) for index, (name, dtype) in enumerate(fields)
    )
    struct = StructType(tuple(name for name, _ in fields), tuple(dtype for _, dtype in fields))
    return Call(row.name, args, ArrayType(struct)), columns


def _stack(
    context: Context, args: tuple[Expr, ...], node: exp.Expr
) -> tuple[tuple[Expr, ...], list[tuple[str, DataType]]]:
    """Bind stack(n, v1, …) with n rows. The values of a column are cast to their common type."""
    match args:
        case (Literal(int() as num_rows), *values) if num_rows > 0 and values:
            pass
        case _:
            raise context.error("stack takes a positive literal number of rows and values", node, TypeMismatchError)
    width = -(-len(values) // num_rows)
    cast_values: list[Expr] = list(values)
    fields: list[tuple[str, DataType]] = []
    for index in range(width):
        unified = unify(values[index::width])
        if unified is None:
            raise context.error(f"column {index} of stack has no common type", node, TypeMismatchError)
        cast_values[index::width] = unified
        fields.append((f"col{index}", unified[0].dtype))
    return (args[0], *cast_values), fields


def generator_plan(child: LogicalPlan, call: Call, columns: tuple[ColumnRef, ...], outer: bool) -> LogicalPlan:
    """Return the plan of the child's rows, each joined with the rows that the call makes from it."""
    function = find(call.function)
    if function is None:
        return Generate(child, call, columns, outer)
    struct = StructType(tuple(column.name for column in columns), tuple(column.dtype for column in columns))
    texts = [lower_literal(arg.value, arg.dtype) if isinstance(arg, Literal) else "" for arg in call.args]
    use = FunctionUse(function, tuple(arg.dtype for arg in call.args), struct, constant_values(texts))
    return Step(child, TableFunctionStep(use, outer), call.args, columns, child.output)


def lateral_join(left: LogicalPlan, right: LogicalPlan, kind: JoinKind, condition: Expr | None) -> LogicalPlan:
    """Return a lateral join. If its right side is only a table function, apply it to each row of the left side."""
    is_outer = kind is JoinKind.LATERAL_LEFT
    if is_true(condition):
        condition = None
    if (is_outer and condition is not None) or getattr(right, "child", None) != Values((), ((),)):
        return Join(left, right, kind, condition)
    match right:
        case Generate(_, call, columns):
            plan: LogicalPlan = Generate(left, call, columns, is_outer)
        case Step(_, TableFunctionStep(use), arguments, columns):
            plan = Step(left, TableFunctionStep(use, is_outer), arguments, columns, left.output)
        case _:
            return Join(left, right, kind, condition)
    return plan if condition is None else Filter(plan, condition)

"""Table functions in FROM, LATERAL VIEW and lateral joins."""

from __future__ import annotations

from sharkpy.plan.expr import Call, ColumnRef, Expr, Literal, is_true
from sharkpy.plan.logical import Filter, Generate, Join, JoinKind, LogicalPlan, Step, Values
from sharkpy.plan.row_steps import TableFunctionStep
from sharkpy.udf.literals import lower_literal
from sharkpy.udf.user.function import FunctionUse, constant_values, find
from sharkpy.values.types import StructType


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

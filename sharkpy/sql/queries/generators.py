"""What a table function stands for in a plan: Generate, or a step where it is a user's."""

from __future__ import annotations

from sharkpy.expr import Call, ColumnRef, Literal
from sharkpy.logical import Generate, LogicalPlan, Step
from sharkpy.table_function_step import TableFunctionStep
from sharkpy.types import StructType
from sharkpy.udf.literals import lower_literal
from sharkpy.udf.user.function import FunctionUse, constant_values, find


def generated(child: LogicalPlan, call: Call, columns: tuple[ColumnRef, ...], outer: bool) -> LogicalPlan:
    """The child's rows, each with the rows that the call makes of it."""
    function = find(call.function)
    if function is None:
        return Generate(child, call, columns, outer)
    struct = StructType(tuple(column.name for column in columns), tuple(column.dtype for column in columns))
    texts = [lower_literal(arg.value, arg.dtype) if isinstance(arg, Literal) else "" for arg in call.args]
    use = FunctionUse(function, tuple(arg.dtype for arg in call.args), struct, constant_values(texts))
    return Step(child, TableFunctionStep(use, outer), call.args, columns, child.output)

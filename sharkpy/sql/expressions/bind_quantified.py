"""Comparisons with all rows of a query: `value > ALL (query)`, `value = ANY (query)`, `value <= SOME (query)`.

`= ANY` is IN, `<> ALL` is NOT IN. For other comparisons, ANY needs four facts of the query, which one row holds: the
number of rows, the number of values, the least and the greatest value. ALL is the negation of ANY with the opposite
comparison.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.plan.expr import AggregateCall, Alias, Call, Expr, string_literal
from sharkpy.plan.logical import Aggregate, LogicalPlan, Project
from sharkpy.plan.subqueries import ScalarSubquery
from sharkpy.sql.expressions.bind_subquery import compared_with_query, in_query
from sharkpy.udf.operators.quantified import FACTS
from sharkpy.values.types import BIGINT, BOOLEAN, StructType, is_nested

if TYPE_CHECKING:
    from sharkpy.sql.context import Context
    from sharkpy.sql.expressions.expr_binder import ExprBinder

_OPPOSITES = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
_WORDS = {"any": exp.Any, "some": exp.Any, "all": exp.All}


def quantified_query(node: exp.Expr) -> tuple[bool, exp.Expr] | None:
    """Return whether ALL precedes a query, and the query; None for other operands."""
    match node:
        case exp.Any(this=exp.Query() as query) | exp.All(this=exp.Query() as query):
            return isinstance(node, exp.All), query
        case exp.Anonymous(expressions=[exp.Subquery() as query]) if node.name.lower() in _WORDS:
            # With a second pair of parentheses it is parsed as a call.
            return _WORDS[node.name.lower()] is exp.All, query
        case exp.Paren():
            return quantified_query(node.this)
    return None


def bind_quantified(binder: ExprBinder, function: str, node: exp.Expr, is_all: bool, query: exp.Expr) -> Expr:
    if function not in _OPPOSITES:
        raise binder.context.unsupported("<=> with ANY or ALL of a query", node)
    function = _OPPOSITES[function] if is_all else function
    result = in_query(binder, node.this, query, node) if function == "eq" else _any(binder, function, node, query)
    return Call("not", (result,), BOOLEAN) if is_all else result


def _any(binder: ExprBinder, function: str, node: exp.Expr, query: exp.Expr) -> Expr:
    if isinstance(node.this, exp.Tuple):
        raise binder.context.unsupported("ANY or ALL of a query with several columns, but by = and <>", node)
    (value,), plan = compared_with_query(binder, node.this, query, node, "ANY or ALL")
    if is_nested(value.dtype):
        raise binder.context.unsupported(f"ANY or ALL of a query of {value.dtype}", node)
    return Call(f"{function}_any", (value, ScalarSubquery(_facts(binder.context, plan))), BOOLEAN)


def _facts(context: Context, plan: LogicalPlan) -> LogicalPlan:
    """One row with a struct of the facts about the query's rows."""
    column = plan.output[0]
    calls = (
        AggregateCall("count", (), BIGINT),
        AggregateCall("count", (column,), BIGINT),
        AggregateCall("min", (column,), column.dtype),
        AggregateCall("max", (column,), column.dtype),
    )
    aggregates = tuple(Alias(call, next(context.ids), name) for name, call in zip(FACTS, calls, strict=True))
    pairs = tuple(part for item in aggregates for part in (string_literal(item.name), item.ref))
    struct = Call("named_struct", pairs, StructType(FACTS, tuple(item.dtype for item in aggregates)))
    return Project(Aggregate(plan, (), aggregates), (Alias(struct, next(context.ids), "facts"),))

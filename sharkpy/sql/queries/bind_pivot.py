"""PIVOT and UNPIVOT of a relation in FROM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sharkpy.base.errors import TypeMismatchError
from sharkpy.base.records import dataclass
from sharkpy.plan.expr import AggregateCall, Alias, Call, ColumnRef, Expr, Literal, conjunction, string_literal
from sharkpy.plan.logical import Expand, Filter, LogicalPlan, Project
from sharkpy.plan.references import column_ids
from sharkpy.sql.context import Context
from sharkpy.sql.expressions import expr_binder
from sharkpy.sql.expressions.coercion import unify
from sharkpy.sql.expressions.expr_binder import ExprBinder
from sharkpy.sql.expressions.operators import compare, connect
from sharkpy.sql.queries.aggregation import Aggregation
from sharkpy.sql.scope import Scope, relation_scope
from sharkpy.values.types import BIGINT, BOOLEAN, STRING

_PIVOT = expr_binder.Clause("PIVOT", aggregates=True)


def bind_pivots(context: Context, plan: LogicalPlan, scope: Scope, node: exp.Expr) -> tuple[LogicalPlan, Scope]:
    """Apply the PIVOTs and UNPIVOTs of a FROM item to its plan. Return the new plan and scope."""
    for pivot in node.args.get("pivots") or ():
        context.only(pivot, "expressions", "fields", "unpivot", "include_nulls", "alias")
        binder = ExprBinder(context, scope, _PIVOT)
        plan = _unpivot(binder, plan, pivot) if pivot.args.get("unpivot") else _pivot(binder, plan, pivot)
        alias = pivot.args.get("alias")
        if alias is not None:
            context.only(alias, "this")
        name = alias.this.name.lower() if alias is not None else None
        scope = relation_scope(name, None, plan.output, scope.parent)
    return plan, scope


@dataclass(frozen=True, slots=True)
class _Measure:
    """Aggregate of PIVOT, and the suffix of its columns' names if there are several aggregates."""

    expr: Expr
    suffix: str


def _pivot(binder: ExprBinder, plan: LogicalPlan, node: exp.Expr) -> LogicalPlan:
    """Bind PIVOT: one row for each group of the unused columns, one column for each value and aggregate.

    If a group has no row with the value, the column is NULL, whatever the aggregate.
    """
    measures = [_measure(binder, item) for item in node.expressions]
    keys = [binder.bind(key) for key in _items(node.args["fields"][0].this)]
    used = frozenset[int]().union(*map(column_ids, keys), *(column_ids(measure.expr) for measure in measures))
    groups = [(column.name, column) for column in plan.output if column.column_id not in used]
    aggregation = Aggregation(
        plan, groups, None, binder.context.column, lambda name: _not_aggregated(binder, name, node)
    )
    columns: list[tuple[str, Expr]] = []
    for item in node.args["fields"][0].expressions:
        values, name = _pivot_value(binder, item, len(keys))
        condition = _matching(binder, keys, values, item)
        for measure in measures:
            column = f"{name}_{measure.suffix}" if len(measures) > 1 else name
            columns.append((column, aggregation.rewrite(_over(measure.expr, condition))))
    output = [Alias(expr, next(binder.context.ids), name) for name, expr in columns]
    return Project(aggregation.plan(), (*(column for _, column in groups), *output))


def _not_aggregated(binder: ExprBinder, name: str, node: exp.Expr) -> Exception:
    return binder.context.error(f'the column "{name}" is not inside an aggregate of PIVOT', node, sqlstate="42803")


def _measure(binder: ExprBinder, node: exp.Expr) -> _Measure:
    value = node.this if isinstance(node, exp.Alias) else node
    expr = binder.bind(value)
    if not any(isinstance(inner, AggregateCall) for inner in expr.walk()):
        raise binder.context.error("PIVOT takes aggregates", node, sqlstate="42803")
    return _Measure(expr, node.alias.lower() if isinstance(node, exp.Alias) else value.sql("hive").lower())


def _items(node: exp.Expr) -> list[exp.Expr]:
    node = node.unnest()
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node]


def _pivot_value(binder: ExprBinder, node: exp.Expr, width: int) -> tuple[list[Expr], str]:
    """Values to pivot by, and the name of their column: the alias, or the values as text."""
    nodes = _items(node.this if isinstance(node, exp.Alias) else node)
    if len(nodes) != width:
        raise binder.context.error(f"{len(nodes)} values for {width} columns of PIVOT", node, sqlstate="42811")
    values = [binder.bind(item) for item in nodes]
    if any(column_ids(value) for value in values):
        raise binder.context.error("PIVOT takes constant values", node)
    if isinstance(node, exp.Alias):
        return values, node.alias.lower()
    texts = [
        str(value.value) if isinstance(value, Literal) and value.value is not None else str(value).lower()
        for value in values
    ]
    return values, (texts[0] if width == 1 else "{" + ", ".join(texts) + "}").lower()


def _matching(binder: ExprBinder, keys: Sequence[Expr], values: Sequence[Expr], node: exp.Expr) -> Expr:
    return connect("and", [compare(binder, "eq_null_safe", pair, node) for pair in zip(keys, values, strict=True)])


def _over(expr: Expr, condition: Expr) -> Expr:
    """Value of an aggregate over the rows that satisfy `condition`; NULL if there are none."""

    def filtered(node: Expr) -> Expr:
        if not isinstance(node, AggregateCall):
            return node
        terms = (condition,) if node.filter is None else (condition, node.filter)
        return replace(node, filter=conjunction(terms))

    num_rows = AggregateCall("count", (), BIGINT, False, condition)
    has_rows = Call("gt", (num_rows, Literal(0, BIGINT)), BOOLEAN)
    return Call("case_when", (has_rows, expr.transform_up(filtered), Literal(None, expr.dtype)), expr.dtype)


def _unpivot(binder: ExprBinder, plan: LogicalPlan, node: exp.Expr) -> LogicalPlan:
    """Bind UNPIVOT: repeat each row for each listed column, or tuple of columns.

    The output has the other columns, the name of the listed column, and its value.
    """
    context, field = binder.context, node.args["fields"][0]
    names = [name.name.lower() for name in node.expressions]
    rows: list[list[Expr]] = []
    labels: list[str] = []
    for item in field.expressions:
        columns = [
            _own_column(binder, plan, column) for column in _items(item.this if isinstance(item, exp.Alias) else item)
        ]
        if len(columns) != len(names):
            message = f"{len(columns)} columns for {len(names)} values of UNPIVOT"
            raise context.error(message, item, sqlstate="42811")
        rows.append(list(columns))
        labels.append(item.alias.lower() if isinstance(item, exp.Alias) else "_".join(c.name for c in columns))
    unified = [_common(binder, values, node) for values in zip(*rows, strict=True)]
    used = {expr.column_id for row in rows for expr in row if isinstance(expr, ColumnRef)}
    kept = tuple(column for column in plan.output if column.column_id not in used)
    label = context.column(field.this.name.lower(), STRING)
    values = tuple(context.column(name, column[0].dtype) for name, column in zip(names, unified, strict=True))
    projections = tuple(
        (*kept, string_literal(text), *(column[index] for column in unified)) for index, text in enumerate(labels)
    )
    expanded = Expand(plan, (*kept, label, *values), projections)
    if node.args.get("include_nulls"):
        return expanded
    return Filter(expanded, connect("or", [Call("is_not_null", (value,), BOOLEAN) for value in values]))


def _own_column(binder: ExprBinder, plan: LogicalPlan, node: exp.Expr) -> ColumnRef:
    column = binder.bind(node)
    if not isinstance(column, ColumnRef) or column.column_id not in plan.output_ids:
        raise binder.context.error("UNPIVOT takes columns", node)
    return column


def _common(binder: ExprBinder, values: Sequence[Expr], node: exp.Expr) -> Sequence[Expr]:
    unified = unify(values)
    if unified is None:
        types = ", ".join(dict.fromkeys(str(value.dtype) for value in values))
        raise binder.context.error(f"the columns of UNPIVOT have no common type: {types}", node, TypeMismatchError)
    return unified

"""Replacement of a table's columns by expressions over it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sharkpy.base.errors import AmbiguousColumnError, BindError, ColumnNotFoundError, did_you_mean
from sharkpy.physical.plan_context import FreshIds
from sharkpy.plan.expr import Alias, ColumnRef, Expr
from sharkpy.plan.logical import LogicalPlan, Project

Named = tuple[str, Expr]
Replacement = Callable[[ColumnRef], Sequence[Named]]
"""Makes the named columns that replace a column."""


def replace_columns(plan: LogicalPlan, replacements: Mapping[str, Replacement], owner: str) -> Project:
    """Replace columns of a plan; the other columns keep their positions. If a column is missing, or a new column has
    the name of another, raise an error that names `owner`.
    """
    by_id = {column_named(plan, name, owner).column_id: change for name, change in replacements.items()}
    ids = FreshIds(plan)
    items: list[Alias | ColumnRef] = []
    for column in plan.output:
        if column.column_id in by_id:
            items.extend(ids.alias(expr, name) for name, expr in by_id[column.column_id](column))
        else:
            items.append(column)
    seen: set[str] = set()
    for item in items:
        if item.name.lower() in seen:
            raise BindError(f'two columns are called "{item.name}" after {owner}', hint="rename one in a query")
        seen.add(item.name.lower())
    return Project(plan, tuple(items))


def column_named(plan: LogicalPlan, name: str, owner: str) -> ColumnRef:
    found = [column for column in plan.output if column.name.lower() == name.lower()]
    if not found:
        hint = did_you_mean(name, [column.name for column in plan.output])
        raise ColumnNotFoundError(f'the table has no column "{name}", which {owner} was fitted with', hint=hint)
    if len(found) > 1:
        raise AmbiguousColumnError(f'the table has several columns "{name}", which {owner} was fitted with')
    return found[0]

"""Rows that commits have inserted into a managed table or deleted from it, as table_changes('table', from [, to]) and
streams of a table WITH CHANGES give them.

They are a UNION ALL over the commits. The rows of a commit that has only added files are the rows of these files. For
other commits, the files that they have replaced are compared with the new ones.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable, Sequence
from contextlib import suppress

from sqlglot import exp

from sharkpy.base.errors import BindError, SharkError
from sharkpy.base.parse_limits import whole_number
from sharkpy.base.settings import TIME_ZONE
from sharkpy.base.time_zone import time_zone, zone_name
from sharkpy.catalog.model import Table
from sharkpy.catalog.table_history import Change, VersionPoint
from sharkpy.plan.expr import AggregateCall, Alias, Call, Cast, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate, Filter, Generate, LogicalPlan, Project, Union, Values
from sharkpy.sql.context import Context
from sharkpy.sql.queries.bind_table import find_table, scan
from sharkpy.values.types import BIGINT, BOOLEAN, INT, STRING, TIMESTAMP, ArrayType, Field, Schema, StructType

NAME = "table_changes"
COLUMNS = Schema((Field("_change_type", STRING), Field("_commit", BIGINT), Field("_commit_time", TIMESTAMP)))
"""Columns after the table's own. `_change_type` is insert or delete."""


def bind_table_changes(context: Context, node: exp.Expr) -> LogicalPlan:
    """Bind the call `node`. Without `to`, the last commit is meant.

    Raise BindError 22023 if a version is not available, or the table had other columns meanwhile.
    """
    table, first, last = _arguments(context, node)
    # The rows depend on the commits so far, so the plan is for one run.
    context.clock.read()
    try:
        return bind_changes(context, table, table.schema, reversed(context.catalog.changes(table, first, last)))
    except SharkError as error:
        raise context.error(error.message, node, type(error), error.hint, error.sqlstate) from None


def _arguments(context: Context, node: exp.Expr) -> tuple[Table, int, int]:
    """Return the table, and the first and the last commit."""
    given: Sequence[exp.Expr] = node.expressions
    if not 2 <= len(given) <= 3 or not all(isinstance(one, exp.Literal) for one in given) or not given[0].is_string:
        hint = "write it as table_changes('table', 5) or table_changes('table', 5, 9)"
        raise context.error(f"{NAME} takes the name of a table and one or two versions", node, hint=hint)
    database, _, name = given[0].name.lower().rpartition(".")
    table = find_table(context, database or context.database, name, given[0])
    numbers = [None if one.is_string else whole_number(one.name) for one in given[1:]]
    first, last = numbers[0], numbers[-1] if len(numbers) > 1 else 1 << 62
    if first is None or last is None:
        raise context.error("the number of a version expected", given[1], sqlstate="22023")
    return table, first, last


def bind_changes(
    context: Context, table: Table, schema: Schema, commits: Iterable[Change], start: Change | None = None
) -> LogicalPlan:
    """Bind the rows that `commits` have inserted into a table and deleted from it: the columns of `schema`, which are
    columns of the table, and `COLUMNS`. `commits` are in their order.

    With `start`, all rows of the table after that commit come first, as inserted ones. Raise BindError 22023 if a
    version is not available or lacks a column.
    """
    pieces = [] if start is None else [_inserted(context, _rows(context, table, schema, start.version), start)]
    changed = (_changed(context, table, schema, commit) for commit in commits)
    pieces += [one for one in changed if one is not None]
    columns = tuple(context.column(field.name, field.dtype) for field in (*schema, *COLUMNS))
    return Union(tuple(pieces), columns) if pieces else Values(columns, ())


def _changed(context: Context, table: Table, schema: Schema, commit: Change) -> LogicalPlan | None:
    """Return the rows that a commit has inserted and deleted, or None if it has not changed any rows."""
    number = commit.version
    if not (commit.files_added or commit.files_removed or commit.moves_partitions):
        return None
    if commit.files_added and not commit.files_removed:
        # Files that are in another table by now are found by a comparison only.
        with suppress(BindError):
            return _inserted(context, _rows(context, table, schema, number, is_added=True), commit)
    before = _rows(context, table, schema, number - 1, without=number)
    return _compared(context, before, _rows(context, table, schema, number, without=number - 1), commit)


def _inserted(context: Context, rows: LogicalPlan, commit: Change) -> LogicalPlan:
    return _with_commit(context, rows, rows.output, Literal("insert", STRING), commit)


def _compared(context: Context, before: LogicalPlan, after: LogicalPlan, commit: Change) -> LogicalPlan:
    """Return the rows that a commit has deleted from `before`, or inserted into `after`.

    Equal rows are counted. The difference of their numbers is how many were inserted or deleted.
    """
    sides = tuple(
        Project(rows, (*rows.output, Alias(Literal(sign, INT), next(context.ids), "sign")))
        for rows, sign in ((after, 1), (before, -1))
    )
    union = Union(sides, tuple(context.column(one.name, one.dtype) for one in sides[0].output))
    *columns, sign = union.columns
    difference = Alias(AggregateCall("sum", (sign,), BIGINT), next(context.ids), "difference")
    counted = Aggregate(union, tuple(columns), (difference,))
    number, zero = difference.ref, Literal(0, BIGINT)
    differing = Filter(counted, Call("ne", (number, zero), BOOLEAN))
    times = Cast(Call("abs", (number,), BIGINT), INT)
    each = context.column("each", INT)
    items = Call("array_repeat", (Literal(0, INT), times), ArrayType(INT))
    explode = Call("explode", (items,), ArrayType(StructType(("col",), (INT,))))
    kinds = (Call("gt", (number, zero), BOOLEAN), Literal("insert", STRING), Literal("delete", STRING))
    repeated = Generate(differing, explode, (each,), False)
    return _with_commit(context, repeated, tuple(columns), Call("case_when", kinds, STRING), commit)


def _with_commit(
    context: Context, rows: LogicalPlan, columns: Sequence[ColumnRef], kind: Expr, commit: Change
) -> LogicalPlan:
    """Return some columns of `rows`, followed by `COLUMNS`."""
    zone = time_zone(zone_name(context.conf.value(TIME_ZONE)))
    moment = datetime.datetime.fromtimestamp(0, datetime.UTC) + datetime.timedelta(milliseconds=commit.time_ms)
    time = Literal(moment.astimezone(zone).replace(tzinfo=None), TIMESTAMP)
    values = (kind, Literal(commit.version, BIGINT), time)
    added = (Alias(value, next(context.ids), name) for value, name in zip(values, COLUMNS.names, strict=True))
    return Project(rows, (*columns, *added))


def _rows(
    context: Context,
    table: Table,
    schema: Schema,
    number: int,
    *,
    is_added: bool = False,
    without: int | None = None,
) -> LogicalPlan:
    """Return the columns of `schema` of a table at a version, see `VersionPoint`.

    Raise BindError 22023 if the version is not available, or lacks a column.
    """
    try:
        found = context.catalog.at(table, VersionPoint(number, is_added=is_added, without=without))
    except BindError as error:
        hint = "the changes of the oldest version that is available may not be known"
        raise BindError(error.message, hint=hint, sqlstate=error.sqlstate) from None
    types = {field.name: field.dtype for field in found.schema}
    if missing := next((field.name for field in schema if types.get(field.name) != field.dtype), None):
        message = f'{table.qualified_name} had no such column "{missing}" at version {number}'
        raise BindError(message, hint="the changes of later versions may be read", sqlstate="22023")
    rows = scan(dataclasses.replace(context, text=""), found)
    columns = {column.name: column for column in rows.columns}
    return Project(rows, tuple(columns[name] for name in schema.names))

"""Rows that commits have inserted into a managed table or deleted from it, as table_changes('table', from [, to]) and
streams of a table WITH CHANGES give them.

They are a UNION ALL over the commits. The rows of a commit that has only added files are the rows of these files. For
other commits, the files that they have replaced are compared with the new ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from sqlglot import exp

from sharkpy.base.errors import BindError, SharkError
from sharkpy.base.parse_limits import whole_number
from sharkpy.catalog.model import Table
from sharkpy.catalog.table_history import Change, VersionPoint
from sharkpy.plan.logical import LogicalPlan, Values
from sharkpy.sql.context import Context
from sharkpy.sql.grammar.parser import parse_query, tokenize
from sharkpy.sql.queries import bind_from
from sharkpy.sql.queries.bind_table import find_table, scan
from sharkpy.sql.scope import relation_scope
from sharkpy.values.types import BIGINT, STRING, TIMESTAMP, Field, Schema

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
    tables: dict[str, Table] = {}
    pieces = [] if start is None else [_all_rows(context, table, schema, start, tables)]
    for commit in commits:
        pieces += _pieces(context, table, schema, commit, tables)
    if not pieces:
        return Values(tuple(context.column(field.name, field.dtype) for field in (*schema, *COLUMNS)), ())
    return _bound(context, " UNION ALL ".join(pieces), tables)


def _all_rows(context: Context, table: Table, schema: Schema, commit: Change, tables: dict[str, Table]) -> str:
    """Return the query of all rows after a commit. `tables` gets the versions that it reads, by their names in it."""
    tables["start"] = _at(context, table, schema, VersionPoint(commit.version))
    return _inserted(f"SELECT {_names(schema)} FROM start", commit)


def _pieces(context: Context, table: Table, schema: Schema, commit: Change, tables: dict[str, Table]) -> Iterator[str]:
    """Yield the queries of the rows that a commit has inserted and deleted. `tables`: see `_all_rows`."""
    number, columns = commit.version, _names(schema)
    if not (commit.files_added or commit.files_removed or commit.moves_partitions):
        return
    if commit.files_added and not commit.files_removed:
        # Files that are in another table by now are found by a comparison only.
        with suppress(BindError):
            tables[f"added{number}"] = _at(context, table, schema, VersionPoint(number, is_added=True))
            yield _inserted(f"SELECT {columns} FROM added{number}", commit)
            return
    for name, version, other in (("after", number, number - 1), ("before", number - 1, number)):
        tables[f"{name}{number}"] = _at(context, table, schema, VersionPoint(version, without=other))
    yield _compared(columns, commit)


def _compared(columns: str, commit: Change) -> str:
    """Return the query of the rows that a commit has deleted from `before…` and inserted into `after…`.

    Equal rows are counted: the difference of their numbers is how many were inserted or deleted.
    """
    sides = " UNION ALL ".join(
        f"SELECT {columns}, {sign} AS `$number` FROM {name}{commit.version}"
        for name, sign in (("after", 1), ("before", -1))
    )
    counted = f"SELECT {columns}, sum(`$number`) AS `$number` FROM ({sides}) `sides` GROUP BY {columns}"
    repeated = "LATERAL VIEW explode(array_repeat(0, CAST(abs(`$number`) AS INT))) `each` AS `$each`"
    rows = f"SELECT {columns}, `$number` FROM ({counted} HAVING sum(`$number`) <> 0) `changed` {repeated}"
    added = _added("IF(`$number` > 0, 'insert', 'delete')", commit)
    return f"SELECT {columns}, {added} FROM ({rows}) `rows`"


def _at(context: Context, table: Table, schema: Schema, point: VersionPoint) -> Table:
    """Return a table at a version. Raise BindError 22023 if it is not available, or lacks a column of `schema`."""
    try:
        found = context.catalog.at(table, point)
    except BindError as error:
        hint = "the changes of the oldest version that is available may not be known"
        raise BindError(error.message, hint=hint, sqlstate=error.sqlstate) from None
    types = {field.name: field.dtype for field in found.schema}
    if missing := next((field.name for field in schema if types.get(field.name) != field.dtype), None):
        message = f'{table.qualified_name} had no such column "{missing}" at version {point.number}'
        raise BindError(message, hint="the changes of later versions may be read", sqlstate="22023")
    return found


def _names(schema: Schema) -> str:
    return ", ".join(_quoted(name) for name in schema.names)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _inserted(rows: str, commit: Change) -> str:
    added = _added("'insert'", commit)
    return f"SELECT *, {added} FROM ({rows}) `rows`"


def _added(kind: str, commit: Change) -> str:
    """Return the items of `COLUMNS`."""
    values = (kind, f"CAST({commit.version} AS BIGINT)", f"timestamp_millis({commit.time_ms})")
    return ", ".join(f"{value} AS {name}" for value, name in zip(values, COLUMNS.names, strict=True))


def _bound(context: Context, text: str, tables: Mapping[str, Table]) -> LogicalPlan:
    """Bind a query over `tables`, by their names in `text`."""
    inner = dataclasses.replace(context, text=text, ctes={})
    tree = parse_query(text, tokenize(text))
    for node in list(tree.find_all(exp.Table)):
        rows = scan(inner, tables[node.name])
        scope = relation_scope(node.name, None, rows.output, None)
        node.replace(bind_from.BoundRelation(this=bind_from.Relation(rows, scope)))
    return inner.bind_query(tree, inner, None)

"""table_changes('table', from [, to]): the rows that commits have inserted into a managed table or deleted from it.

It becomes a UNION ALL over the commits. The rows of a commit that has only added files are the rows of these files.
For other commits, the table after the commit is compared with the table before it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from sqlglot import exp

from sharkpy.base.errors import SharkError
from sharkpy.base.parse_limits import whole_number
from sharkpy.catalog.model import Table
from sharkpy.catalog.table_history import Change, VersionPoint
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.context import Context
from sharkpy.sql.grammar.parser import parse_query, tokenize
from sharkpy.sql.queries.bind_table import ADDED, find_table

NAME = "table_changes"
COLUMNS = ("_change_type", "_commit", "_commit_time")


def bind_table_changes(context: Context, node: exp.Expr) -> LogicalPlan:
    """Bind the call `node`. Without `to`, the last commit is meant.

    Raise BindError 22023 if a version is not available, or the table had other columns meanwhile.
    """
    table, first, last = _arguments(context, node)
    # The rows depend on the commits so far, so the plan is for one run.
    context.clock.read()
    try:
        commits = [one for one in context.catalog.changes(table) if first <= one.version <= last]
    except SharkError as error:
        raise context.error(error.message, node, type(error), error.hint, error.sqlstate) from None
    pieces = [piece for one in reversed(commits) for piece in _pieces(context, node, table, one)]
    text = " UNION ALL ".join(pieces or [_piece(table, "SELECT * FROM {} WHERE false", "insert", None)])
    tree = parse_query(text, tokenize(text))
    for read in tree.find_all(exp.Table):
        version = read.args.get("version")
        if version is not None and version.expression.name.startswith("+"):
            version.set("kind", ADDED)
            version.set("expression", exp.Literal.number(version.expression.name[1:]))
    inner = dataclasses.replace(context, text=text, ctes={})
    return inner.bind_query(tree, inner, None)


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


def _pieces(context: Context, node: exp.Expr, table: Table, commit: Change) -> Iterator[str]:
    """Yield the queries of the rows that a commit has inserted and deleted."""
    if not (commit.files_added or commit.files_removed):
        return
    try:
        now = context.catalog.at(table, VersionPoint(commit.version, is_added=not commit.files_removed))
        before = context.catalog.at(table, VersionPoint(commit.version - 1)) if commit.files_removed else now
    except SharkError as error:
        hint = "the changes of the oldest version that is available may not be known"
        raise context.error(error.message, node, type(error), hint, error.sqlstate) from None
    if any(one.schema.names != table.schema.names for one in (now, before)):
        message = f"the columns of {table.qualified_name} were others at version {commit.version}"
        raise context.error(message, node, hint="name later versions", sqlstate="22023")
    if not commit.files_removed:
        yield _piece(table, f"SELECT * FROM {{}} VERSION AS OF '+{commit.version}'", "insert", commit)
        return
    after, earlier = (f"SELECT * FROM {{}} VERSION AS OF {number}" for number in (commit.version, commit.version - 1))
    yield _piece(table, f"{earlier} EXCEPT ALL {after}", "delete", commit)
    yield _piece(table, f"{after} EXCEPT ALL {earlier}", "insert", commit)


def _piece(table: Table, rows: str, kind: str, commit: Change | None) -> str:
    name = ".".join(f"`{part.replace('`', '``')}`" for part in (table.database, table.name))
    number, time_ms = (0, 0) if commit is None else (commit.version, commit.time_ms)
    values = (f"'{kind}'", f"CAST({number} AS BIGINT)", f"timestamp_millis({time_ms})")
    added = ", ".join(f"{value} AS `{column}`" for value, column in zip(values, COLUMNS, strict=True))
    return f"SELECT *, {added} FROM ({rows.replace('{}', name)}) `rows`"

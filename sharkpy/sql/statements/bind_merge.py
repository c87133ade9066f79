"""MERGE INTO target USING source ON condition WHEN ….

For each row, the first WHEN clause of a kind that holds is applied. `UPDATE SET *` and `INSERT *` set each column of
the table to the source's column with the same name, as in Spark and Delta.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import ColumnCountError, ColumnNotFoundError, did_you_mean
from sharkpy.base.records import dataclass
from sharkpy.base.settings import MERGE_CHECK
from sharkpy.plan.commands import ChangeRows
from sharkpy.plan.expr import Alias, Call, Expr
from sharkpy.plan.logical import Filter, Join, JoinKind, LogicalPlan, Project, SharedRows, Union
from sharkpy.sql.expressions.coercion import cast
from sharkpy.sql.grammar.parser import parse_source
from sharkpy.sql.queries.bind_from import Relation
from sharkpy.sql.queries.bind_join import bind_joined
from sharkpy.sql.scope import Scope
from sharkpy.sql.statements.bind_constraints import default_of, enforced
from sharkpy.sql.statements.bind_row_changes import (
    FALSE,
    TRUE,
    Target,
    Values,
    assignments,
    changed_partitions,
    negated,
    new_value,
    num_rows,
    predicate,
    stored_value,
    target_table,
    with_values,
)
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import BOOLEAN

Clause = tuple[Expr | None, Values | None]
"""Condition of a WHEN clause, None without AND, and its new values, None for DELETE."""


@dataclass(slots=True)
class Clauses:
    """WHEN clauses of a MERGE by kind, each in written order."""

    matched: list[Clause] = field(default_factory=list)
    unmatched_target: list[Clause] = field(default_factory=list)
    """WHEN NOT MATCHED BY SOURCE: rows of the table without a match."""
    added: list[tuple[Expr | None, Values]] = field(default_factory=list)

    @property
    def deletes(self) -> bool:
        return any(values is None for _, values in (*self.matched, *self.unmatched_target))

    @property
    def updates(self) -> bool:
        return any(values is not None for _, values in (*self.matched, *self.unmatched_target))


def bind_merge(binder: CommandBinder) -> ChangeRows:
    reader = binder.reader
    reader.expect("MERGE", "INTO")
    target = target_table(binder, "MERGE", ("USING",))
    source = _source(binder)
    scope = target.scope + source.scope
    reader.expect("ON")
    condition = predicate(binder, scope, reader.until("WHEN"))
    clauses = Clauses()
    while reader.match("WHEN"):
        _clause(binder, target, source, clauses)
    if not (clauses.matched or clauses.unmatched_target or clauses.added):
        raise reader.error("WHEN MATCHED or WHEN NOT MATCHED expected")
    rows, partitions = _changed(binder, target, source, condition, clauses)
    shared = Relation(SharedRows(source.plan.output), source.scope)
    added = _added(binder, target, shared, condition, clauses)
    before = num_rows(binder, target) if clauses.deletes else None
    return ChangeRows("MERGE", target.table, rows, partitions, added, source.plan, clauses.updates, before)


def _source(binder: CommandBinder) -> Relation:
    """Read USING table | (query) [AS] alias."""
    reader = binder.reader
    using = reader.current
    reader.expect("USING")
    assert using is not None  # the word that was just read
    first = Token(TokenType.FROM, "FROM", using.line, using.col, using.start, using.end)
    item = parse_source(reader.text, [first, *reader.until("ON")]).args["from_"].this
    return bind_joined(binder.context, item, item.args.get("joins") or [], None, frozenset())


def _clause(binder: CommandBinder, target: Target, source: Relation, clauses: Clauses) -> None:
    """Read WHEN [NOT] MATCHED [BY SOURCE | TARGET] [AND condition] THEN action.

    A clause without AND has to be the last of its kind.
    """
    reader, token = binder.reader, binder.reader.current
    is_matched = not reader.match("NOT")
    reader.expect("MATCHED")
    by = reader.expect_any("SOURCE", "TARGET") if not is_matched and reader.match("BY") else None
    if is_matched:
        same, scope = clauses.matched, target.scope + source.scope
    elif by == "SOURCE":
        same, scope = clauses.unmatched_target, target.scope
    else:
        _added_clause(binder, target, source, clauses, token)
        return
    condition = _extra_condition(binder, scope, [one for one, _ in same], token)
    if reader.match("DELETE"):
        same.append((condition, None))
        return
    reader.expect("UPDATE", "SET")
    if is_matched and reader.peek("*"):
        same.append((condition, _every_column(binder, target, source)))
    else:
        same.append((condition, assignments(binder, target.table, scope, ("WHEN",))))


def _added_clause(
    binder: CommandBinder, target: Target, source: Relation, clauses: Clauses, token: Token | None
) -> None:
    condition = _extra_condition(binder, source.scope, [one for one, _ in clauses.added], token)
    binder.reader.expect("INSERT")
    is_star = binder.reader.peek("*")
    values = _every_column(binder, target, source) if is_star else _inserted(binder, target, source)
    clauses.added.append((condition, values))


def _extra_condition(
    binder: CommandBinder, scope: Scope, before: Sequence[Expr | None], token: Token | None
) -> Expr | None:
    """Read [AND condition] THEN."""
    reader = binder.reader
    if before and before[-1] is None:
        raise binder.error("the clause before of the same kind needs a condition: AND …", token)
    condition = predicate(binder, scope, reader.until("THEN")) if reader.match("AND") else None
    reader.expect("THEN")
    return condition


def _every_column(binder: CommandBinder, target: Target, source: Relation) -> Values:
    """Read `*`: the source's columns with the names of the table's columns. Other columns are ignored."""
    reader, star = binder.reader, binder.reader.current
    reader.expect("*")
    values: dict[str, Expr] = {}
    given = [column for column in source.scope.columns if not column.qualified_only]
    for one in target.table.schema:
        found = [column.expr for column in given if column.name == one.name]
        if not found:
            message = f'the source has no column "{one.name}" of {target.table.qualified_name}, which * needs'
            hint = did_you_mean(one.name, [column.name for column in given])
            raise binder.error(message, star, ColumnNotFoundError, hint)
        if len(found) > 1:
            message = f'the source has several columns "{one.name}": * cannot choose'
            raise binder.error(message, star, sqlstate="42702")
        values[one.name] = stored_value(binder, one, found[0], star)
    return values


def _inserted(binder: CommandBinder, target: Target, source: Relation) -> Values:
    """Read [(columns)] VALUES (…): a value for each column, which may use the source's columns."""
    reader, table = binder.reader, target.table
    names = _names(binder, target) if reader.peek("(") else list(table.schema.names)
    token = reader.current
    reader.expect("VALUES")
    reader.expect("(")
    found: list[list[Token]] = [reader.until(",")]
    while reader.match(","):
        found.append(reader.until(","))
    reader.expect(")")
    if len(found) != len(names):
        message = f"{table.qualified_name} takes {len(names)} columns here, VALUES has {len(found)}"
        raise binder.error(message, token, ColumnCountError)
    values = {
        name: new_value(binder, table, table.schema[name], source.scope, tokens)
        for name, tokens in zip(names, found, strict=True)
    }
    missing = [one for one in table.schema if one.name not in values]
    return values | {one.name: cast(default_of(binder.context, table, one), one.dtype) for one in missing}


def _names(binder: CommandBinder, target: Target) -> Sequence[str]:
    reader, known = binder.reader, target.table.schema.names
    reader.expect("(")
    names: list[str] = []
    while True:
        token = reader.current
        names.append(reader.name("a column name"))
        if names[-1] not in known:
            message = f'no column "{names[-1]}" in {target.table.qualified_name}'
            raise binder.error(message, token, ColumnNotFoundError, did_you_mean(names[-1], known))
        if names[-1] in names[:-1]:
            raise binder.error(f'the column "{names[-1]}" is listed twice', token, sqlstate="42701")
        if reader.match(")"):
            return names
        reader.expect(",")


def _changed(
    binder: CommandBinder, target: Target, source: Relation, condition: Expr, clauses: Clauses
) -> tuple[LogicalPlan | None, LogicalPlan | None]:
    """Rows of the table after the merge, without added ones, and the partitions to rewrite.

    A row of the table may have one match.
    """
    if not clauses.matched and not clauses.unmatched_target:
        return None, None
    if not clauses.matched:
        return _changed_without_match(binder, target, source, condition, clauses)
    context = binder.context
    mark = Alias(TRUE, next(context.ids), "matched")
    marked = Project(SharedRows(source.plan.output), (*source.plan.output, mark))
    is_checked = context.conf.value(MERGE_CHECK) and clauses.matched != [(None, None)]
    joined = Join(target.rows, marked, JoinKind.SINGLE if is_checked else JoinKind.LEFT, condition)
    changes, changed = _changes(binder, target, joined, _conditions(mark.ref, clauses))
    return enforced(context, target.table, changes), changed


def _changed_without_match(
    binder: CommandBinder, target: Target, source: Relation, condition: Expr, clauses: Clauses
) -> tuple[LogicalPlan, LogicalPlan | None]:
    """Change only rows without a match. A row with a match may have any number of them."""
    context, shared = binder.context, SharedRows(source.plan.output)
    unmatched = Join(target.rows, shared, JoinKind.ANTI, condition)
    matched: LogicalPlan = Join(target.rows, shared, JoinKind.SEMI, condition)
    by_source = [(extra or TRUE, values) for extra, values in clauses.unmatched_target]
    changes, changed = _changes(binder, target, unmatched, by_source)
    if clauses.updates:
        matched = Project(matched, (*matched.output, Alias(FALSE, next(context.ids), "updated")))
    columns = tuple(context.column(column.name, column.dtype) for column in matched.output)
    return Union((matched, enforced(context, target.table, changes)), columns), changed


def _changes(
    binder: CommandBinder, target: Target, rows: LogicalPlan, clauses: Iterable[tuple[Expr, Values | None]]
) -> tuple[LogicalPlan, LogicalPlan | None]:
    """Return `rows` after the change, and the partitions of changed rows. The first clause that holds is applied."""
    updates: list[tuple[Expr, Values]] = []
    deleted: Expr = FALSE
    changed: Expr = FALSE
    for holds, values in clauses:
        if values is None:
            deleted = _or(deleted, Call("and", (holds, negated(changed)), BOOLEAN))
        else:
            updates.append((holds, values))
        changed = _or(changed, holds)
    kept = Filter(rows, negated(deleted))
    after = with_values(binder, target, kept, updates) if updates else Project(kept, target.rows.output)
    return after, changed_partitions(binder, target, rows, changed, updates)


def _conditions(is_matched: Expr, clauses: Clauses) -> Iterator[tuple[Expr, Values | None]]:
    """Yield each clause that changes rows of the table, with its complete condition."""
    is_unmatched = Call("is_null", (is_matched,), BOOLEAN)
    for kind, same in ((is_matched, clauses.matched), (is_unmatched, clauses.unmatched_target)):
        for extra, values in same:
            yield kind if extra is None else Call("and", (kind, extra), BOOLEAN), values


def _or(one: Expr, other: Expr) -> Expr:
    return other if one is FALSE else Call("or", (one, other), BOOLEAN)


def _added(
    binder: CommandBinder, target: Target, source: Relation, condition: Expr, clauses: Clauses
) -> LogicalPlan | None:
    """Rows of the source without a match, as rows of the table."""
    if not clauses.added:
        return None
    context = binder.context
    rows: LogicalPlan = Join(source.plan, target.rows, JoinKind.ANTI, condition)
    *first, (last, values) = clauses.added
    if last is not None:
        rows = Filter(rows, functools.reduce(_or, (extra for extra, _ in clauses.added if extra is not None)))
    items = tuple(
        Alias(_first_value(name, first, values[name]), next(context.ids), name) for name in target.table.schema.names
    )
    return enforced(context, target.table, Project(rows, items))


def _first_value(name: str, first: Sequence[tuple[Expr | None, Values]], last: Expr) -> Expr:
    """Value of a column from the first clause that holds, else from the last clause."""
    if not first:
        return last
    pairs = [expr for extra, values in first if extra is not None for expr in (extra, values[name])]
    return Call("case_when", (*pairs, last), last.dtype)

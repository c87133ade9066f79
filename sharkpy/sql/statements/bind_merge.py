"""MERGE INTO target USING source ON condition WHEN …: at most three clauses, as in Hive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import ColumnCountError, ColumnNotFoundError, did_you_mean
from sharkpy.base.settings import MERGE_CHECK
from sharkpy.plan.commands import ChangeRows
from sharkpy.plan.expr import Alias, Call, Expr
from sharkpy.plan.logical import Filter, Join, JoinKind, LogicalPlan, Project, SharedRows
from sharkpy.sql.expressions.coercion import cast
from sharkpy.sql.grammar.parser import parse_source
from sharkpy.sql.queries.bind_from import Relation
from sharkpy.sql.queries.bind_join import bind_joined
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
    predicate,
    target_table,
    with_values,
)
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import BOOLEAN


@dataclass(slots=True)
class Clauses:
    """WHEN clauses of a MERGE. A condition is None if AND is not given."""

    matched: list[tuple[Expr | None, Values | None]] = field(default_factory=list)
    """Matched clauses in their order; without values the row is deleted."""
    not_matched: tuple[Expr | None, Values] | None = None


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
    if not clauses.matched and clauses.not_matched is None:
        raise reader.error("WHEN MATCHED or WHEN NOT MATCHED expected")
    rows, partitions = _changed(binder, target, source, condition, clauses)
    shared = Relation(SharedRows(source.plan.output), source.scope)
    added = _added(binder, target, shared, condition, clauses)
    return ChangeRows("MERGE", target.table, rows, partitions, added, source.plan)


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
    """Read a WHEN clause. Of two WHEN MATCHED the first has an AND, and one updates while the other deletes."""
    reader, token = binder.reader, binder.reader.current
    if clauses.not_matched is not None:
        raise binder.error("WHEN NOT MATCHED is the last clause, and there is one", token)
    is_matched = not reader.match("NOT")
    reader.expect("MATCHED")
    scope = target.scope + source.scope if is_matched else source.scope
    condition = predicate(binder, scope, reader.until("THEN")) if reader.match("AND") else None
    reader.expect("THEN")
    if not is_matched:
        clauses.not_matched = condition, _inserted(binder, target, source)
        return
    if reader.match("DELETE"):
        values = None
    else:
        reader.expect("UPDATE", "SET")
        values = assignments(binder, target.table, scope, ("WHEN",))
    if clauses.matched:
        (first_condition, first_values), *more = clauses.matched
        if more or (first_values is None) == (values is None):
            raise binder.error("at most one WHEN MATCHED with UPDATE and one with DELETE expected", token)
        if first_condition is None:
            raise binder.error("the first of two WHEN MATCHED needs a condition: AND …", token)
    clauses.matched.append((condition, values))


def _inserted(binder: CommandBinder, target: Target, source: Relation) -> Values:
    """Read INSERT [(columns)] VALUES (…): a value for each column, over the source's columns."""
    reader, table = binder.reader, target.table
    reader.expect("INSERT")
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
    """Rows that stay, and the partitions that are rewritten. A target row may have one match."""
    if not clauses.matched:
        return None, None
    context = binder.context
    mark = Alias(TRUE, next(context.ids), "matched")
    marked = Project(SharedRows(source.plan.output), (*source.plan.output, mark))
    kind = JoinKind.SINGLE if context.conf.value(MERGE_CHECK) else JoinKind.LEFT
    joined = Join(target.rows, marked, kind, condition)
    is_matched = mark.ref
    updates: list[tuple[Expr, Values]] = []
    deleted: Expr = FALSE
    changed: Expr = FALSE
    for extra, values in clauses.matched:
        holds = is_matched if extra is None else Call("and", (is_matched, extra), BOOLEAN)
        if values is None:
            deleted = Call("and", (holds, negated(changed)), BOOLEAN)
        else:
            updates.append((holds, values))
        changed = Call("or", (changed, holds), BOOLEAN)
    rows = enforced(context, target.table, with_values(binder, target, Filter(joined, negated(deleted)), updates))
    return rows, changed_partitions(binder, target, joined, changed)


def _added(
    binder: CommandBinder, target: Target, source: Relation, condition: Expr, clauses: Clauses
) -> LogicalPlan | None:
    """Rows of the source without a match, as rows of the table."""
    if clauses.not_matched is None:
        return None
    context = binder.context
    extra, values = clauses.not_matched
    rows: LogicalPlan = Join(source.plan, target.rows, JoinKind.ANTI, condition)
    if extra is not None:
        rows = Filter(rows, extra)
    items = tuple(Alias(values[name], next(context.ids), name) for name in target.table.schema.names)
    return enforced(context, target.table, Project(rows, items))

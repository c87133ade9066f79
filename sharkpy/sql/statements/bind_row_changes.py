"""UPDATE and DELETE, bound as the rows of the table after the change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from sharkpy.base.errors import ColumnNotFoundError, TypeMismatchError, did_you_mean
from sharkpy.base.records import dataclass
from sharkpy.catalog.model import Table, TableKind
from sharkpy.plan.commands import ChangeRows
from sharkpy.plan.expr import AggregateCall, Alias, Call, Cast, ColumnRef, Expr, Literal, disjunction
from sharkpy.plan.logical import Aggregate, Filter, LogicalPlan, Project, Scan, Union
from sharkpy.sql.expressions.bind_literal import castable
from sharkpy.sql.expressions.coercion import cast
from sharkpy.sql.expressions.expr_binder import WHERE, Clause, ExprBinder
from sharkpy.sql.grammar.parser import parse_expression
from sharkpy.sql.grammar.token_reader import word_of
from sharkpy.sql.queries.bind_table import scan
from sharkpy.sql.scope import Scope, relation_scope
from sharkpy.sql.statements.bind_constraints import default_of, enforced
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import BIGINT, BOOLEAN, STRING, Field, distinct_names

FALSE, TRUE = Literal(False, BOOLEAN), Literal(True, BOOLEAN)
SET = Clause("SET")
Values = Mapping[str, Expr]
"""New values of columns, cast to their types."""


@dataclass(frozen=True, slots=True)
class Target:
    """Table whose rows change: all its rows before the change, and the names of its columns."""

    table: Table
    rows: Scan
    scope: Scope


def bind_update(binder: CommandBinder) -> ChangeRows:
    """Bind UPDATE table SET column = value, … [WHERE condition]."""
    reader = binder.reader
    reader.expect("UPDATE")
    target = target_table(binder, "UPDATE", ("SET",))
    reader.expect("SET")
    values = assignments(binder, target.table, target.scope, ("WHERE",))
    condition = _condition(binder, target)
    rows = enforced(binder.context, target.table, with_values(binder, target, target.rows, [(condition, values)]))
    changed = changed_partitions(binder, target, target.rows, condition)
    return ChangeRows("UPDATE", target.table, rows, changed, marks_updates=True)


def bind_delete(binder: CommandBinder) -> ChangeRows:
    """Bind DELETE FROM table [WHERE condition]."""
    reader = binder.reader
    reader.expect("DELETE", "FROM")
    target = target_table(binder, "DELETE", ("WHERE",))
    condition = _condition(binder, target)
    rows = Filter(target.rows, negated(condition))
    changed = changed_partitions(binder, target, target.rows, condition)
    return ChangeRows("DELETE", target.table, rows, changed, before=num_rows(binder, target))


def target_table(binder: CommandBinder, action: str, following: Sequence[str]) -> Target:
    """Read table [[AS] alias], before one of the words `following`."""
    reader = binder.reader
    token = reader.current
    table = binder.written_table(action)
    if table.kind is TableKind.EXTERNAL:
        hint = "INSERT OVERWRITE writes external tables"
        raise binder.error(f"{action} of {table.qualified_name}, which is external", token, hint=hint, sqlstate="42809")
    alias = None
    if reader.match("AS") or (reader.current is not None and reader.word() not in following):
        alias = reader.name("an alias")
    rows = scan(binder.context, table)
    database = None if alias else table.database
    return Target(table, rows, relation_scope(alias or table.name, database, rows.output, None))


def assignments(binder: CommandBinder, table: Table, scope: Scope, ends: Sequence[str]) -> Values:
    """Read column = value, …. Refuse partition and bucket columns."""
    reader = binder.reader
    fixed = (*table.partition_columns, *(table.buckets.columns if table.buckets else ()))
    values: dict[str, Expr] = {}
    while True:
        token = reader.current
        name = reader.qualified_name("a column name")[1]
        if not table.schema.has(name):
            hint = did_you_mean(name, table.schema.names)
            raise binder.error(f'no column "{name}" in {table.qualified_name}', token, ColumnNotFoundError, hint)
        if name in fixed:
            kind = "partition" if name in table.partition_columns else "bucket"
            raise binder.error(f'the {kind} column "{name}" cannot be updated', token)
        if name in values:
            raise binder.error(f'the column "{name}" is set twice', token, sqlstate="42701")
        reader.expect("=")
        values[name] = new_value(binder, table, table.schema[name], scope, reader.until(",", *ends))
        if not reader.match(","):
            return values


def new_value(binder: CommandBinder, table: Table, field: Field, scope: Scope, tokens: list[Token]) -> Expr:
    """Bind an expression, or DEFAULT, as a value of the column `field`."""
    if len(tokens) == 1 and word_of(tokens[0]) == "DEFAULT":
        return cast(default_of(binder.context, table, field), field.dtype)
    value = ExprBinder(binder.context, scope, SET).bind(expression(binder, tokens))
    return stored_value(binder, field, value, tokens[0])


def stored_value(binder: CommandBinder, field: Field, value: Expr, token: Token | None) -> Expr:
    """Cast a value to its column's type."""
    if not castable(value.dtype, field.dtype):
        message = f'the column "{field.name}" is {field.dtype}, the value is {value.dtype}'
        raise binder.error(message, token, TypeMismatchError)
    return cast(value, field.dtype)


def expression(binder: CommandBinder, tokens: list[Token]) -> exp.Expr:
    """Parse an expression from tokens of the statement. Raise an error if there are none."""
    if not tokens:
        raise binder.reader.error("an expression expected")
    return parse_expression(binder.reader.text, tokens)


def predicate(binder: CommandBinder, scope: Scope, tokens: list[Token]) -> Expr:
    return ExprBinder(binder.context, scope, WHERE).predicate(expression(binder, tokens))


def negated(condition: Expr) -> Expr:
    """Negate a condition. The result is true if the condition is false or unknown."""
    return Call("not", (Call("coalesce", (condition, FALSE), BOOLEAN),), BOOLEAN)


def with_values(
    binder: CommandBinder, target: Target, rows: LogicalPlan, changes: Sequence[tuple[Expr, Values]]
) -> Project:
    """Change `rows` of the table: for each row, the first condition in `changes` that holds gives its new values.

    The last column of the result tells whether one holds. Each condition is computed once for each row.
    """
    ids, (*_, mark) = binder.context.ids, distinct_names([*target.table.schema.names, "updated"])
    marks = tuple(Alias(Call("coalesce", (holds, FALSE), BOOLEAN), next(ids), mark) for holds, _ in changes)
    items: list[Alias | ColumnRef] = []
    for column in target.rows.output:
        if not any(column.name in values for _, values in changes):
            items.append(column)
            continue
        pairs: list[Expr] = []
        for one, (_, values) in zip(marks, changes, strict=True):
            pairs += [one.ref, values.get(column.name, column)]
        items.append(Alias(Call("case_when", (*pairs, column), column.dtype), next(ids), column.name))
    is_updated = disjunction(one.ref for one in marks) or FALSE
    return Project(Project(rows, (*rows.output, *marks)), (*items, Alias(is_updated, next(ids), mark)))


def num_rows(binder: CommandBinder, target: Target) -> Aggregate:
    """Count all rows of the table before the change."""
    count = Alias(AggregateCall("count", (), BIGINT), next(binder.context.ids), "count")
    return Aggregate(target.rows, (), (count,))


def changed_partitions(
    binder: CommandBinder,
    target: Target,
    rows: LogicalPlan,
    changed: Expr,
    updates: Sequence[tuple[Expr, Values]] = (),
) -> LogicalPlan | None:
    """Distinct partition values of the changed rows, as text, before and after the change.

    Return None if the table has no partition columns.
    """
    columns = [column for column in target.rows.output if column.name in target.table.partition_columns]
    if not columns:
        return None
    found = Filter(rows, changed)
    texts = _texts(binder, found, columns)
    if any(name in values for _, values in updates for name in target.table.partition_columns):
        after = with_values(binder, target, found, updates)
        moved = _texts(binder, after, [one for one in after.output if one.name in target.table.partition_columns])
        both = tuple(binder.context.column(column.name, column.dtype) for column in texts.output)
        texts = Union((texts, moved), both)
    return Aggregate(texts, texts.output, ())


def _texts(binder: CommandBinder, rows: LogicalPlan, columns: Sequence[ColumnRef]) -> LogicalPlan:
    texts = tuple(Alias(Cast(column, STRING), next(binder.context.ids), column.name) for column in columns)
    return Project(rows, texts)


def _condition(binder: CommandBinder, target: Target) -> Expr:
    reader = binder.reader
    if not reader.match("WHERE"):
        return TRUE
    return predicate(binder, target.scope, reader.until())

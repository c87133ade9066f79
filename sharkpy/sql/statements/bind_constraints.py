"""Constraints of tables: read in CREATE and ALTER TABLE, stored for optimizers and users, enforced as in Hive."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import BindError, ColumnNotFoundError, UnsupportedError, did_you_mean
from sharkpy.catalog.model import Constraint, Table
from sharkpy.plan.expr import Call, Expr, Literal, string_literal
from sharkpy.plan.logical import Filter, LogicalPlan
from sharkpy.sql.context import Context
from sharkpy.sql.expressions.bind_literal import castable
from sharkpy.sql.expressions.coercion import as_boolean, cast
from sharkpy.sql.expressions.expr_binder import VALUES, WHERE, ExprBinder
from sharkpy.sql.grammar.parser import parse_query, tokenize
from sharkpy.sql.scope import Scope, ScopeColumn
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import BOOLEAN, NULL, DataType, Field

ENFORCED = ("NOT NULL", "CHECK", "DEFAULT")
"""Kinds that may be enabled. Other kinds are declarations, which Hive 3 accepts only with DISABLE NOVALIDATE."""
_KEYS = {"PRIMARY KEY": "pk", "UNIQUE": "uk", "FOREIGN KEY": "fk"}
_STATES = ("ENABLE", "ENABLED", "DISABLE", "DISABLED", "ENFORCED", "NOT ENFORCED", "VALIDATE", "NOVALIDATE")
_ENDS = (*_STATES, "RELY", "NORELY", "COMMENT", "CONSTRAINT")


def starts_constraint(binder: CommandBinder) -> bool:
    """Return whether a table constraint, and not a column, comes next in a list of columns."""
    reader = binder.reader
    if reader.peek("CONSTRAINT") or reader.peek("PRIMARY", "KEY") or reader.peek("FOREIGN", "KEY"):
        return True
    following = reader.tokens[reader.position + 1 : reader.position + 2]
    return reader.word() in ("UNIQUE", "CHECK") and bool(following) and following[0].token_type == TokenType.L_PAREN


def table_constraint(binder: CommandBinder, fields: Sequence[Field]) -> Constraint:
    """Read a table constraint with its state.

    [CONSTRAINT name] PRIMARY KEY | UNIQUE (…) | FOREIGN KEY (…) REFERENCES t (…) | CHECK (…)
    """
    reader = binder.reader
    name = reader.name("a name of the constraint") if reader.match("CONSTRAINT") else None
    if reader.match("CHECK"):
        token = reader.current
        made = Constraint("CHECK", name or _name("cc"), (), text_in_parentheses(binder), is_enabled=True)
        check_condition(binder, made, fields, token)
        return with_state(binder, made)
    kind = next((kind for kind in _KEYS if reader.match(*kind.split())), None)
    if kind is None:
        raise reader.error("PRIMARY KEY, FOREIGN KEY, UNIQUE or CHECK expected")
    made = Constraint(kind, name or _name(_KEYS[kind]), _columns(binder, fields))
    if kind == "FOREIGN KEY":
        reader.expect("REFERENCES")
        made = _with_parent(binder, made)
    return with_state(binder, made)


def column_constraint(binder: CommandBinder, field: Field, fields: Sequence[Field]) -> Constraint | None:
    """Read the constraint after a column's type; None if there is none.

    A CHECK may name the columns of `fields` and its own column.
    """
    reader = binder.reader
    name = reader.name("a name of the constraint") if reader.match("CONSTRAINT") else None
    columns, token = (field.name,), reader.current
    if reader.match("NOT", "NULL"):
        made = Constraint("NOT NULL", name or _name("nn"), columns, is_enabled=True)
    elif reader.match("PRIMARY", "KEY"):
        made = Constraint("PRIMARY KEY", name or _name("pk"), columns)
    elif reader.match("UNIQUE"):
        made = Constraint("UNIQUE", name or _name("uk"), columns)
    elif reader.match("DEFAULT"):
        made = Constraint("DEFAULT", name or _name("dc"), columns, _default_text(binder), is_enabled=True)
        default_value(binder.context, made, field.dtype, binder, token)
    elif reader.match("CHECK"):
        made = Constraint("CHECK", name or _name("cc"), columns, text_in_parentheses(binder), is_enabled=True)
        check_condition(binder, made, [*fields, field], token)
    elif reader.match("REFERENCES"):
        made = _with_parent(binder, Constraint("FOREIGN KEY", name or _name("fk"), columns))
    elif name is not None:
        raise reader.error("NOT NULL, PRIMARY KEY, UNIQUE, DEFAULT, CHECK or REFERENCES expected")
    else:
        return None
    return with_state(binder, made)


def with_state(binder: CommandBinder, made: Constraint) -> Constraint:
    """Read the state of a constraint: [NOT] ENFORCED, ENABLE | DISABLE, [NO]VALIDATE, [NO]RELY."""
    reader = binder.reader
    while True:
        token = reader.current
        if reader.match_any("ENABLE", "ENABLED", "ENFORCED"):
            if made.kind not in ENFORCED:
                message = f"{made.kind} with ENABLE is not supported: the engine does not check it"
                raise binder.error(message, token, UnsupportedError, "DISABLE NOVALIDATE stores and shows it")
            made = dataclasses.replace(made, is_enabled=True)
        elif reader.match_any("DISABLE", "DISABLED") or reader.match("NOT", "ENFORCED"):
            made = dataclasses.replace(made, is_enabled=False)
        elif reader.match("VALIDATE"):
            message = f"{made.kind} with VALIDATE is not supported: existing rows are not checked"
            raise binder.error(message, token, UnsupportedError, "NOVALIDATE")
        elif relied := reader.match_any("RELY", "NORELY"):
            made = dataclasses.replace(made, is_relied_on=relied == "RELY")
        elif not reader.match("NOVALIDATE"):
            return made


def check_names(binder: CommandBinder, constraints: Sequence[Constraint], token: Token | None) -> None:
    """Check that names are distinct.

    A table has at most one PRIMARY KEY, a column at most one NOT NULL and one DEFAULT.
    """
    seen: set[object] = set()
    for one in constraints:
        single: object = one.kind if one.kind == "PRIMARY KEY" else (one.kind, one.columns)
        marks = [("name", one.name)] + ([single] if one.kind in ("PRIMARY KEY", "NOT NULL", "DEFAULT") else [])
        if any(mark in seen for mark in marks):
            raise binder.error(f"the constraint {one.name} ({one.kind}) exists already", token, sqlstate="42710")
        seen.update(marks)


# Use in INSERT


def default_of(context: Context, table: Table, field: Field) -> Expr:
    """Return the value of a column in rows that do not give one: its DEFAULT, or NULL."""
    for one in table.constraints:
        if one.kind == "DEFAULT" and one.is_enabled and one.columns == (field.name,):
            return default_value(context, one, field.dtype)
    return Literal(None, NULL)


def default_value(
    context: Context,
    constraint: Constraint,
    dtype: DataType,
    binder: CommandBinder | None = None,
    token: Token | None = None,
) -> Expr:
    """Bind the value of a DEFAULT, cast to its column's type. It cannot name columns."""
    inner = dataclasses.replace(context, text=constraint.text)
    tree = parse_query(f"SELECT {constraint.text}", tokenize(f"SELECT {constraint.text}"))
    expr = ExprBinder(inner, Scope(()), VALUES).bind(tree.expressions[0])
    if not castable(expr.dtype, dtype):
        message = f"the default {constraint.text} cannot be {dtype}"
        raise binder.error(message, token) if binder is not None else BindError(message)
    return cast(expr, dtype)


def check_condition(
    binder: CommandBinder, constraint: Constraint, fields: Sequence[Field], token: Token | None
) -> None:
    """Raise BindError if the condition is not valid over these columns."""
    columns = [ScopeColumn(None, None, field.name, binder.context.column(field.name, field.dtype)) for field in fields]
    try:
        _condition(binder.context, constraint, Scope(columns))
    except BindError as error:
        raise binder.error(error.message, token, type(error), error.hint, error.sqlstate) from None


def enforced(context: Context, table: Table, query: LogicalPlan) -> LogicalPlan:
    """Add constraints to `query`, whose columns are named as in the table. The first forbidden row raises an error.

    Columns that the query does not have, the values of a PARTITION clause, are not checked.
    """
    scope = Scope([ScopeColumn(None, None, column.name, column) for column in query.output])
    given = {column.name for column in query.output}
    terms: list[Expr] = []
    for one in table.constraints:
        if not one.is_enabled or one.kind not in ("NOT NULL", "CHECK") or not given.issuperset(one.columns):
            continue
        message = string_literal(_violation(table, one))
        terms.append(Call("enforce_constraint", (_condition(context, one, scope), message), BOOLEAN))
    for term in terms:
        query = Filter(query, term)
    return query


def _condition(context: Context, constraint: Constraint, scope: Scope) -> Expr:
    if constraint.kind == "NOT NULL":
        text = f"`{constraint.columns[0]}` IS NOT NULL"
    else:
        text = f"coalesce(({constraint.text}), true)"
    text = f"SELECT {text}"
    tree = parse_query(text, tokenize(text))
    bound = ExprBinder(dataclasses.replace(context, text=text), scope, WHERE).bind(tree.expressions[0])
    predicate = as_boolean(bound)
    if predicate is None:
        raise BindError(f"the condition {constraint.text} is not a BOOLEAN")
    return predicate


def _violation(table: Table, constraint: Constraint) -> str:
    """Error message for a row that a constraint forbids."""
    if constraint.kind == "NOT NULL":
        column = constraint.columns[0]
        return f'the column "{column}" of {table.qualified_name} is NOT NULL, and a row has NULL there [SQLSTATE 23502]'
    return f"a row of {table.qualified_name} does not meet CHECK ({constraint.text}) [SQLSTATE 23514]"


# Reading


def _columns(binder: CommandBinder, fields: Sequence[Field]) -> tuple[str, ...]:
    reader = binder.reader
    reader.expect("(")
    names: list[str] = []
    known = [field.name for field in fields]
    while True:
        token = reader.current
        name = reader.name("a column name")
        if name not in known:
            raise binder.error(f'no column "{name}"', token, ColumnNotFoundError, did_you_mean(name, known))
        names.append(name)
        if reader.match(")"):
            return tuple(names)
        reader.expect(",")


def _with_parent(binder: CommandBinder, made: Constraint) -> Constraint:
    """Read table (column, …), after REFERENCES. The table and columns have to exist."""
    token = binder.reader.current
    parent = binder.base_table("REFERENCES")
    columns = _columns(binder, parent.schema.fields)
    if len(columns) != len(made.columns):
        raise binder.error("as many columns on both sides of a FOREIGN KEY expected", token)
    return dataclasses.replace(made, parent=parent.qualified_name, parent_columns=columns)


def text_in_parentheses(binder: CommandBinder, what: str = "a condition") -> str:
    """Read parentheses. Return the text between them."""
    reader = binder.reader
    reader.expect("(")
    first, depth = reader.take(), 0
    last, token = first, first
    while depth or token.token_type != TokenType.R_PAREN:
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        last, token = token, reader.take()
    if token is first:
        raise binder.error(f"{what} in the parentheses expected", token)
    return reader.text[first.start : last.end + 1]


def _default_text(binder: CommandBinder) -> str:
    """Read the text of a value, up to a comma, the end of the list, or a word that may follow a value."""
    reader = binder.reader
    first, depth = reader.current, 0
    last: Token | None = None
    while (token := reader.current) is not None:
        is_end = token.token_type in (TokenType.COMMA, TokenType.R_PAREN) or reader.word() in _ENDS
        if depth == 0 and is_end:
            break
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        last = reader.take()
    if first is None or last is None:
        raise reader.error("a value expected after DEFAULT")
    return reader.text[first.start : last.end + 1]


def _name(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex[:12]}"

"""DEFAULT as a value in the VALUES of an INSERT."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import TypeMismatchError
from sharkpy.catalog.model import Table
from sharkpy.plan.expr import Expr
from sharkpy.plan.logical import LogicalPlan, Values
from sharkpy.sql.expressions.bind_literal import castable
from sharkpy.sql.expressions.coercion import cast
from sharkpy.sql.statements.bind_constraints import default_of
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import Field

Cell = tuple[int, int]
"""Row and column of a value."""
_BEFORE, _BEHIND = (TokenType.L_PAREN, TokenType.COMMA), (TokenType.R_PAREN, TokenType.COMMA)


def without_defaults(tokens: list[Token]) -> tuple[list[Token], frozenset[Cell]]:
    """Replace each DEFAULT in VALUES by NULL. Return the tokens, and the cells that were DEFAULT."""
    if not tokens or tokens[0].token_type != TokenType.VALUES:
        return tokens, frozenset()
    found, cells = list(tokens), set[Cell]()
    row = column = depth = 0
    for index, token in enumerate(tokens):
        kind = token.token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if kind == TokenType.COMMA and depth < 2:
            row, column = (row, column + 1) if depth else (row + 1, 0)
        if depth == 1 and _is_default(tokens, index):
            found[index] = Token(TokenType.NULL, "NULL", token.line, token.col, token.start, token.end)
            cells.add((row, column))
    return found, frozenset(cells)


def _is_default(tokens: Sequence[Token], index: int) -> bool:
    token = tokens[index]
    if token.text.upper() != "DEFAULT" or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        return False
    if not 0 < index < len(tokens) - 1:
        return False
    return tokens[index - 1].token_type in _BEFORE and tokens[index + 1].token_type in _BEHIND


def with_defaults(
    binder: CommandBinder, query: LogicalPlan, cells: Collection[Cell], table: Table, fields: Sequence[Field]
) -> LogicalPlan:
    """Put the defaults of `fields`, the columns of `query`, into `cells`. A column without a default gets NULL."""
    if not cells or not isinstance(query, Values) or len(query.columns) != len(fields):
        return query
    context = binder.context
    changed = {column for _, column in cells}
    columns = list(query.columns)
    rows = [list(row) for row in query.rows]
    for index in changed:
        field = fields[index]
        columns[index] = context.column(columns[index].name, field.dtype)
        for number, row in enumerate(rows):
            value: Expr = default_of(context, table, field) if (number, index) in cells else row[index]
            if not castable(value.dtype, field.dtype):
                message = f'the column "{field.name}" is {field.dtype}, a value given is {value.dtype}'
                raise context.error(message, None, TypeMismatchError)
            row[index] = cast(value, field.dtype)
    return Values(tuple(columns), tuple(map(tuple, rows)))

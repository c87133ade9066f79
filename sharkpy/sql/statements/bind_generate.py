"""GENERATE: a function of whole tables, its arguments, and the table for its result."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import BindError, FunctionNotFoundError, did_you_mean
from sharkpy.catalog.function_catalog import Macro
from sharkpy.plan.commands import GenerateArgument, GenerateTable
from sharkpy.plan.expr import Expr
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.expressions import expr_binder
from sharkpy.sql.grammar.parser import parse_expression
from sharkpy.sql.grammar.token_reader import word_of
from sharkpy.sql.scope import Scope
from sharkpy.sql.statements.command_binder import QUERY_WORDS, CommandBinder
from sharkpy.udf import registry
from sharkpy.udf.function import TableFunction

_CONSTANTS = ("TRUE", "FALSE", "NULL", "CURRENT_DATE", "CURRENT_TIMESTAMP")
"""Words that are values, and not names of tables."""


def bind_generate(binder: CommandBinder) -> GenerateTable:
    """Bind GENERATE function(argument, …) [AS [TABLE] name].

    An argument is a table, a query in parentheses, or a constant.
    """
    reader = binder.reader
    reader.expect("GENERATE")
    start = reader.position
    function, is_of_rows = _function(binder)
    written = reader.tokens[start : reader.position]
    reader.expect("(")
    arguments = (_called_on_rows(binder, written),) if is_of_rows else tuple(_arguments(binder))
    if not reader.match("AS"):
        return GenerateTable(function, arguments)
    reader.match("TABLE")
    return GenerateTable(function, arguments, *binder.new_name())


def _function(binder: CommandBinder) -> tuple[str, bool]:
    """Read a function. Return its name in the registry, and whether it is called for each row."""
    token = binder.reader.current
    database, short = binder.reader.qualified_name("a function")
    name = short if database is None else f"{database}.{short}"
    found = binder.context.catalog.find_function(binder.context.database, name)
    key = name if found is None or isinstance(found, Macro) else found.key
    if not isinstance(found, Macro):
        row = registry.relation_function(key) or registry.table_function(key)
        if row is not None:
            return row.name, isinstance(row, TableFunction)
    if found is not None or registry.described(name) is not None:
        message = f'"{name}" is not a function of whole tables, which GENERATE needs'
        hint = f"call it in SELECT {name}(…); a function for GENERATE has a parameter annotated as TableRDD"
        raise binder.error(message, token, BindError, hint, "42809")
    guess = did_you_mean(name, registry.relation_functions())
    raise binder.error(f'no function "{name}"', token, FunctionNotFoundError, guess)


def _arguments(binder: CommandBinder) -> list[GenerateArgument]:
    reader = binder.reader
    arguments: list[GenerateArgument] = []
    while not reader.match(")"):
        if arguments:
            reader.expect(",")
        arguments.append(_argument(binder, arguments))
    return arguments


def _called_on_rows(binder: CommandBinder, function: list[Token]) -> GenerateArgument:
    """Query that calls a table function of rows: SELECT function(columns of the table, constants) FROM the table.

    The columns replace the table among the arguments.
    """
    reader = binder.reader
    first, start = function[0], reader.position
    values: list[Token] = []
    source: list[Token] = []
    while not reader.match(")"):
        if values:
            reader.expect(",")
            values += _tokens(first, ",")
        if _type_at(binder, 1) == TokenType.FARROW:
            raise reader.error("an argument without a name expected, for a function of rows")
        place = reader.current
        tokens, is_query = _value_tokens(binder)
        if is_query and source:
            raise binder.error("a function of rows takes one table", place)
        if is_query:
            source = [*_tokens(first, "FROM", "("), *tokens, *_tokens(first, ")", "_rows")]
            names = [column.name for column in binder.query(tokens).output]
            tokens = [part for name in names for part in (*_tokens(place, ","), _quoted(place, name))][1:]
        values += tokens
    text = reader.text[first.start : reader.tokens[max(start, reader.position - 1)].end + 1]
    call = [*_tokens(first, "SELECT"), *function, *_tokens(first, "("), *values, *_tokens(first, ")")]
    return GenerateArgument(None, binder.query([*call, *source]), text)


def _argument(binder: CommandBinder, before: list[GenerateArgument]) -> GenerateArgument:
    reader = binder.reader
    name: str | None = None
    first = reader.current
    if _type_at(binder, 1) == TokenType.FARROW:
        reader.name("a parameter")
        name = reader.tokens[reader.position - 1].text
        reader.take()
        if any(one.name is not None and one.name.lower() == name.lower() for one in before):
            raise binder.error(f'two arguments are named "{name}"', first)
    elif before and before[-1].name is not None:
        raise reader.error("an argument with a name expected: arguments without names come first")
    start = reader.current
    value = _value(binder)
    last = reader.tokens[reader.position - 1]
    assert start is not None  # _value took it
    return GenerateArgument(name, value, reader.text[start.start : last.end + 1])


def _value(binder: CommandBinder) -> LogicalPlan | Expr:
    tokens, is_query = _value_tokens(binder)
    if is_query:
        return binder.query(tokens)
    tree = parse_expression(binder.reader.text, tokens)
    return expr_binder.ExprBinder(binder.context, Scope(()), expr_binder.GENERATE).bind(tree)


def _value_tokens(binder: CommandBinder) -> tuple[list[Token], bool]:
    """Read the next argument. Return its tokens, and whether it is a query. A table becomes a query of all its rows."""
    reader = binder.reader
    first = reader.current
    if _is_table(binder):
        start = reader.position
        binder.table()
        return [*_tokens(first, "SELECT", "*", "FROM"), *reader.tokens[start : reader.position]], True
    tokens = [] if reader.word() in QUERY_WORDS[:3] else reader.until(",")
    if not tokens:
        raise reader.error("a table, a query in parentheses or a value expected")
    if tokens[0].token_type == TokenType.L_PAREN and _is_query(tokens[1:]):
        if tokens[-1].token_type != TokenType.R_PAREN:
            raise binder.error("the parentheses of a query can hold nothing else", tokens[0])
        return tokens[1:-1], True
    return tokens, False


_KINDS = {
    "SELECT": TokenType.SELECT,
    "FROM": TokenType.FROM,
    "*": TokenType.STAR,
    "(": TokenType.L_PAREN,
    ")": TokenType.R_PAREN,
    ",": TokenType.COMMA,
}


def _tokens(place: Token | None, *words: str) -> list[Token]:
    """Make tokens of words that are not in the text, at the place of a token that is."""
    return [_at(place, _KINDS.get(word, TokenType.VAR), word) for word in words]


def _quoted(place: Token | None, name: str) -> Token:
    return _at(place, TokenType.IDENTIFIER, name)


def _at(place: Token | None, kind: TokenType, text: str) -> Token:
    assert place is not None  # there was a token to be taken
    return Token(kind, text, place.line, place.col, place.start, place.end)


def _is_table(binder: CommandBinder) -> bool:
    """Return whether the argument is only [database.]name."""
    reader = binder.reader
    token = reader.current
    if token is None or reader.word() in _CONSTANTS:
        return False
    is_name = token.token_type == TokenType.IDENTIFIER or (
        token.token_type != TokenType.STRING and (token.text[:1].isalpha() or token.text[:1] == "_")
    )
    length = 3 if _type_at(binder, 1) == TokenType.DOT else 1
    return is_name and _type_at(binder, length) in (TokenType.COMMA, TokenType.R_PAREN, None)


def _is_query(tokens: list[Token]) -> bool:
    """Return whether a query begins after any opening parentheses."""
    first = next((token for token in tokens if token.token_type != TokenType.L_PAREN), None)
    return word_of(first) in QUERY_WORDS


def _type_at(binder: CommandBinder, ahead: int) -> TokenType | None:
    position = binder.reader.position + ahead
    tokens = binder.reader.tokens
    return tokens[position].token_type if position < len(tokens) else None

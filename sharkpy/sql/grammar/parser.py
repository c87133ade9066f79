"""HiveQL text to sqlglot trees, with errors that name the expected token and the place."""

from __future__ import annotations

import re
import unicodedata

from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import ParseError, SharkError, UnsupportedError
from sharkpy.sql.grammar import dialect
from sharkpy.sql.grammar.dialect import SyntaxProblem
from sharkpy.sql.grammar.split_statements import split_statements
from sharkpy.sql.grammar.syntax_errors import foreign_stream_syntax, hint_at, place, sign_hint, syntax_error
from sharkpy.sql.nesting import check_nesting, within_stack

__all__ = ["Token", "parse", "parse_query", "parse_source", "split_statements", "tokenize"]

_CLOSED = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+"|`[^`]*`|[^'"`/-]+|.""", re.DOTALL
)
_REQUIRED = re.compile(r"Required keyword: '(\w+)' missing for <class '[\w.]*\.(\w+)'>")
_QUALIFIED_CALL = re.compile(r"[\w`]\s*\.\s*[\w`]+\s*\(")
_EXPECTING = re.compile(r"Expect(?:ing|ed) (.*?)(?: but got .*)?$")
_CLOSINGS = {
    "'": "a ' within a text is written \\'",
    '"': 'a " within a text is written \\"',
    "/": "a comment ends with */",
}
_UNEXPECTED = "Invalid expression / Unexpected token"
_OPERATORS = {
    "ADD": "+",
    "SUB": "-",
    "MUL": "*",
    "DIV": "/",
    "MOD": "%",
    "INTDIV": "DIV",
    "EQ": "=",
    "NEQ": "<>",
    "LT": "<",
    "LTE": "<=",
    "GT": ">",
    "GTE": ">=",
    "NULLSAFEEQ": "<=>",
    "DPIPE": "||",
    "NEG": "-",
    "REGEXPLIKE": "RLIKE",
}
"""sqlglot's names of operators -> their signs in HiveQL."""


def tokenize(text: str) -> list[Token]:
    """Split one statement into tokens, without a final semicolon.

    Raise ParseError if a quote or comment is not closed, or for a second statement.
    """
    try:
        tokens = dialect.tokenize(text)
    except TokenError:
        offset = _unterminated(text)
        line, column = place(text, offset)
        message = "a quote or comment is not closed"
        raise ParseError(message, hint=_CLOSINGS.get(text[offset]), line=line, column=column) from None
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    for token in tokens:
        if token.token_type == TokenType.VAR and not (token.text.isascii() and token.text.isprintable()):
            _check_characters(text, token)
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            raise syntax_error(text, "one statement expected", token)
    check_nesting(text, tokens)
    return tokens


def _check_characters(text: str, token: Token) -> None:
    """Refuse typographic quotes, dashes and similar characters. Names may have letters and digits of any script."""
    for place_in_text in range(token.start, token.end + 1):
        character = text[place_in_text]
        is_letter = character.isalnum() or unicodedata.category(character).startswith("M")
        if not (is_letter or (character.isascii() and character.isprintable())):
            line, column = place(text, place_in_text)
            name = unicodedata.name(character, f"U+{ord(character):04X}").lower()
            shown = character if character.isprintable() else repr(character)[1:-1]
            message = f'syntax error near "{shown}": the character {name} is allowed in quotes only'
            raise ParseError(message, line=line, column=column)


def parse(text: str) -> exp.Expr:
    """Parse one query. Raise ParseError if it is malformed."""
    return parse_query(text, tokenize(text))


def parse_query(text: str, tokens: list[Token]) -> exp.Expr:
    """Parse a query from `tokens`, which are all or some of the tokens of `text`."""
    return _parse(text, tokens, dialect.HiveQLParser.parse_query)


def parse_source(text: str, tokens: list[Token]) -> exp.Expr:
    """Parse [WITH …] FROM source, without a select list, as a Select."""
    return _parse(text, tokens, dialect.HiveQLParser.parse_source)


def parse_expression(text: str, tokens: list[Token]) -> exp.Expr:
    """Parse an expression from `tokens`, which are some of the tokens of `text`."""
    return _parse(text, tokens, dialect.HiveQLParser.parse_expression)


def _refuse_partition_functions(tokens: list[Token]) -> None:
    """Refuse `noop(ON table PARTITION BY …)`, matchpath and similar functions."""
    for name, parenthesis, on in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if on.token_type == TokenType.ON and parenthesis.token_type == TokenType.L_PAREN:
            message = f"{name.text}(ON …), a function of a partitioned table, is not supported"
            raise SyntaxProblem(message, name, is_unsupported=True)


def _parse(text: str, tokens: list[Token], method: object) -> exp.Expr:
    if not tokens:
        raise ParseError("a statement expected, the text is empty", line=1, column=1)

    def run() -> exp.Expr | None:
        _refuse_partition_functions(tokens)
        parser = dialect.HiveQLParser(dialect=dialect.DIALECT)
        return parser._parse(method, tokens, text)[0]  # type: ignore[arg-type]

    try:
        tree = within_stack(run)
    except SyntaxProblem as problem:
        raise _translate(text, tokens, problem) from None
    except TokenError:
        raise ParseError("a hint is not closed", line=1, column=1) from None
    if tree is None:
        raise syntax_error(text, "a query expected", tokens[0])
    return _with_qualified_calls(tree) if _QUALIFIED_CALL.search(text) else tree


def _with_qualified_calls(tree: exp.Expr) -> exp.Expr:
    """Rewrite `database.f(…)`, which is a field access to sqlglot, as a call of "database.f"."""
    for dot in list(tree.find_all(exp.Dot)):
        call, database = dot.expression, dot.this
        if isinstance(call, exp.Anonymous) and isinstance(database, (exp.Column, exp.Identifier)):
            call.set("this", f"{database.name}.{call.name}")
            call.update_positions(database if isinstance(database, exp.Identifier) else database.this)
            dot.replace(call)
    return tree


def _translate(text: str, tokens: list[Token], problem: SyntaxProblem) -> SharkError:
    if problem.is_unsupported and problem.token is not None:
        line, column = place(text, problem.token.start)
        return UnsupportedError(problem.message, hint=problem.hint, line=line, column=column)
    if (found := foreign_stream_syntax(tokens)) is not None:
        line, column = place(text, found.token.start)
        return UnsupportedError(f"{found.construct} is not supported", hint=found.hint, line=line, column=column)
    error = syntax_error(text, _message(problem.message), problem.token)
    is_unexpected = problem.message.startswith(_UNEXPECTED)
    error.hint = hint_at(tokens, problem.token) if is_unexpected else problem.hint or sign_hint(problem.token)
    return error


def _message(description: str) -> str:
    if match := _REQUIRED.match(description):
        operator = match.group(2).upper()
        return "WHEN expected" if operator == "CASE" else f"an operand of {_OPERATORS.get(operator, operator)} expected"
    if description.startswith(_UNEXPECTED):
        return "the statement should end here, or an operator or a comma is missing before it"
    if match := _EXPECTING.match(description):
        wanted = match.group(1)
        return f"{wanted} expected" if wanted[0].isalnum() else f'"{wanted}" expected'
    return description


def _unterminated(text: str) -> int:
    """Find the start of the quote or comment that is not closed."""
    for match in _CLOSED.finditer(text):
        if match.group() in ("'", '"', "`") or (match.group() == "/" and text.startswith("/*", match.start())):
            return match.start()
    return max(len(text) - 1, 0)


_QUOTED = re.compile(r'"([^"]+)"|\b(?:not found|found) (\S+)')


def add_place(error: SharkError, text: str) -> None:
    """Set the place of an error without one to the first token of `text` that its message quotes."""
    match = _QUOTED.search(error.message)
    if error.line is not None or match is None:
        return
    names = {name.lower() for name in (match[1] or match[2], (match[1] or match[2]).rpartition(".")[2])}
    try:
        tokens = tokenize(text)
    except SharkError:
        return
    for token in tokens:
        if token.text.lower() in names:
            error.line, error.column = place(text, token.start)
            return

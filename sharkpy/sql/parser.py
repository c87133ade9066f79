"""HiveQL text to sqlglot trees, with errors that say what was expected where."""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.errors import ParseError, SharkError, UnsupportedError
from sharkpy.sql import dialect
from sharkpy.sql.deep_stack import with_deep_stack
from sharkpy.sql.dialect import SyntaxProblem
from sharkpy.sql.split_statements import split_statements

__all__ = ["parse", "parse_query", "place", "split_statements", "syntax_error", "tokenize"]

_CLOSED = re.compile(r"""--[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|[^'"`/-]+|.""", re.DOTALL)
_REQUIRED = re.compile(r"Required keyword: '(\w+)' missing for <class '[\w.]*\.(\w+)'>")
_EXPECTING = re.compile(r"Expect(?:ing|ed) (.*?)(?: but got .*)?$")


def tokenize(text: str) -> list[Token]:
    """The tokens of one statement, without a semicolon at its end. ParseError where a quote is open."""
    try:
        tokens = dialect.tokenize(text)
    except TokenError:
        line, column = _unterminated(text)
        message = "a quote or comment is not closed"
        raise ParseError(message, line=line, column=column) from None
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            raise syntax_error(text, "one statement expected", token)
    return tokens


def parse(text: str) -> exp.Expr:
    """The tree of one query. ParseError where it is not one."""
    return parse_query(text, tokenize(text))


def parse_query(text: str, tokens: list[Token]) -> exp.Expr:
    """The tree of the query that `tokens`, a tail or part of the tokens of `text`, make up."""
    return _parse(text, tokens, dialect.HiveQLParser.parse_query)


def _parse(text: str, tokens: list[Token], method: object) -> exp.Expr:
    if not tokens:
        raise ParseError("a statement expected, the text is empty", line=1, column=1)

    def run() -> exp.Expr | None:
        parser = dialect.HiveQLParser(dialect=dialect.DIALECT)
        return parser._parse(method, tokens, text)[0]  # type: ignore[arg-type]

    try:
        tree = with_deep_stack(run)
    except SyntaxProblem as problem:
        raise _translate(text, problem) from None
    except TokenError:
        raise ParseError("a hint is not closed", line=1, column=1) from None
    if tree is None:
        raise syntax_error(text, "a query expected", tokens[0])
    return tree


def place(text: str, offset: int) -> tuple[int, int]:
    """The 1-based line and column of a character of `text`."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def syntax_error(text: str, message: str, token: Token | None) -> ParseError:
    """A ParseError at `token`; None is the end of the text."""
    if token is None:
        line, column = place(text, len(text.rstrip()))
        return ParseError(f"syntax error at the end: {message}", line=line, column=column)
    line, column = place(text, token.start)
    written = text[token.start : token.end + 1]
    return ParseError(f'syntax error near "{written}": {message}', line=line, column=column)


def _translate(text: str, problem: SyntaxProblem) -> SharkError:
    if problem.is_unsupported and problem.token is not None:
        line, column = place(text, problem.token.start)
        return UnsupportedError(problem.message, line=line, column=column)
    return syntax_error(text, _message(problem.message), problem.token)


def _message(description: str) -> str:
    if match := _REQUIRED.match(description):
        return "WHEN expected" if match.group(2) == "Case" else f"an operand of {match.group(2).upper()} expected"
    if description.startswith("Invalid expression / Unexpected token"):
        return "the statement should end here, or an operator is missing before it"
    if match := _EXPECTING.match(description):
        return f"{match.group(1)} expected"
    return description


def _unterminated(text: str) -> tuple[int, int]:
    """Where the quote or comment starts that runs to the end of the text."""
    for match in _CLOSED.finditer(text):
        if match.group() in ("'", '"', "`") or (match.group() == "/" and text.startswith("/*", match.start())):
            return place(text, match.start())
    return place(text, max(len(text) - 1, 0))

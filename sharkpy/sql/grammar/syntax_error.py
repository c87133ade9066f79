"""Syntax errors at their place in the text of a statement."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token

from sharkpy.base.errors import ParseError
from sharkpy.base.parse_limits import shortened


def place(text: str, offset: int) -> tuple[int, int]:
    """Return the 1-based line and column of a character of `text`."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def syntax_error(text: str, message: str, token: Token | None) -> ParseError:
    """Return a ParseError at `token`; None is the end of the text."""
    if token is None:
        line, column = place(text, len(text.rstrip()))
        return ParseError(f"syntax error at the end: {message}", line=line, column=column)
    line, column = place(text, token.start)
    written = text[token.start : token.end + 1]
    return ParseError(f'syntax error near "{shortened(written)}": {message}', line=line, column=column)

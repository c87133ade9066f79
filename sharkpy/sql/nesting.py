"""Limit on the nesting of a statement: planning recurses, and raises an error long before the stack overflows.

Calls between Python functions take no space on the thread's stack. So a thread of 8 MB can hold several times as many
frames as the limit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TypeVar

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import ParseError
from sharkpy.sql.grammar.syntax_errors import place

T = TypeVar("T")

MOST_LEVELS = 512
"""Maximum number of parentheses, brackets, CASEs and NOTs around one place of a text."""
_FRAMES = 24_000
"""Frames that the parser needs for all levels, about 33 for each, and that later phases need."""
_HINT = "write it with fewer nested parentheses"
_STEPS = {
    TokenType.L_PAREN: 1,
    TokenType.L_BRACKET: 1,
    TokenType.L_BRACE: 1,
    TokenType.R_PAREN: -1,
    TokenType.R_BRACKET: -1,
    TokenType.R_BRACE: -1,
}


def check_nesting(text: str, tokens: Iterable[Token]) -> None:
    """Raise ParseError 54001 at the first token that is nested more than MOST_LEVELS deep."""
    brackets = cases = nots = 0
    for token in tokens:
        kind = token.token_type
        brackets += _STEPS.get(kind, 0)
        if kind == TokenType.CASE:
            cases += 1
        elif kind == TokenType.END:
            cases = max(cases - 1, 0)
        nots = nots + 1 if kind == TokenType.NOT else 0
        if brackets + cases + nots > MOST_LEVELS:
            line, column = place(text, token.start)
            message = f"the statement is nested too deeply: more than {MOST_LEVELS} levels"
            raise ParseError(message, hint=_HINT, sqlstate="54001", line=line, column=column)


def within_stack(function: Callable[[], T]) -> T:
    """Call `function`. Raise ParseError 54001 if it recurses too deeply."""
    # The limit is set once for the process, for all statements: lowering it again could break another thread.
    if sys.getrecursionlimit() < _FRAMES:
        sys.setrecursionlimit(_FRAMES)
    try:
        return function()
    except RecursionError:
        raise ParseError("the statement is nested too deeply", hint=_HINT, sqlstate="54001") from None

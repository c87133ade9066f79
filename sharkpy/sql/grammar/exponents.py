"""Split numbers with an exponent from the sign after them: sqlglot reads `1e5+1` as one number."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

_NUMBER = re.compile(r"(?:[0-9]++\.?[0-9]*+|\.[0-9]++)[eE][0-9]++(?=[+-])")


def with_numbers_apart(text: str, tokens: list[Token], tokenize: Callable[[str], list[Token]]) -> list[Token]:
    """Return the `tokens` of a text, with such numbers separate from the sign and the text after it."""
    cuts = [token.start + end for token in tokens if (end := _end_of_number(token))]
    if not cuts:
        return tokens
    apart: list[Token] = []
    line = 0
    for start, end in pairwise((0, *cuts, len(text))):
        piece = text[start:end]
        # The text after the sign may begin with another such number.
        for token in with_numbers_apart(piece, tokenize(piece), tokenize):
            token.start += start
            token.end += start
            token.line += line
            apart.append(token)
        line += piece.count("\n")
    return apart


def _end_of_number(token: Token) -> int:
    """Length of the number at the start of a token, if a sign follows the number; else 0."""
    if token.token_type not in (TokenType.NUMBER, TokenType.VAR):
        return 0
    found = _NUMBER.match(token.text)
    return 0 if found is None else found.end()

"""Numbers with an exponent end before a sign that does not belong to it: sqlglot takes `1e5+1` for one number."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

_NUMBER = re.compile(r"(?:[0-9]++\.?[0-9]*+|\.[0-9]++)[eE][0-9]++(?=[+-])")


def with_numbers_apart(text: str, tokens: list[Token], tokenize: Callable[[str], list[Token]]) -> list[Token]:
    """The tokens of a text, which `tokenize` has found, with such numbers apart from the sign and what follows it."""
    cuts = [token.start + end for token in tokens if (end := _end_of_number(token))]
    if not cuts:
        return tokens
    apart: list[Token] = []
    line = 0
    for start, end in pairwise((0, *cuts, len(text))):
        piece = text[start:end]
        # What follows the sign may be another one.
        for token in with_numbers_apart(piece, tokenize(piece), tokenize):
            token.start += start
            token.end += start
            token.line += line
            apart.append(token)
        line += piece.count("\n")
    return apart


def _end_of_number(token: Token) -> int:
    """Where the number ends that a token begins with, if a sign follows it there; else 0."""
    if token.token_type not in (TokenType.NUMBER, TokenType.VAR):
        return 0
    found = _NUMBER.match(token.text)
    return 0 if found is None else found.end()

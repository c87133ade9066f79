"""Order of the clauses of a query: LIMIT before ORDER BY is an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot.tokenizer_core import TokenType

from sharkpy.sql.grammar.windowing_parser import WINDOWING

_ORDER = (
    (TokenType.WHERE,),
    (TokenType.GROUP_BY,),
    (WINDOWING,),
    (TokenType.HAVING,),
    (TokenType.WINDOW, TokenType.QUALIFY),
    (TokenType.ORDER_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY, TokenType.SORT_BY),
    (TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH),
)
"""Clauses in their order. Clauses of one row may be swapped, and WINDOW may follow ORDER BY, as in Spark."""
_PLACES = {token_type: place for place, row in enumerate(_ORDER) for token_type in row}
_OF_THE_WHOLE = _PLACES[TokenType.ORDER_BY]
"""Place from which on clauses apply to the rows of a whole UNION, not to its parts."""
_SET_OPERATIONS = (TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT)

ClauseParser = Callable[[Any], tuple[str, Any]]


def in_order(parsers: Mapping[TokenType, ClauseParser]) -> dict[TokenType, ClauseParser]:
    """Wrap the parsers of clauses, so that each one checks the word after its clause."""
    return {token_type: _checked(token_type, parser) for token_type, parser in parsers.items()}


def _checked(token_type: TokenType, parse: ClauseParser) -> ClauseParser:
    place = _PLACES.get(token_type)

    def parse_clause(parser: Any) -> tuple[str, Any]:
        word = parser._curr.text.upper()
        clause = parse(parser)
        following = parser._curr
        if place is None or not following:
            return clause
        is_late_window = following.token_type == TokenType.WINDOW and place == _OF_THE_WHOLE
        if _PLACES.get(following.token_type, place) < place and not is_late_window:
            parser.raise_error(f"{following.text.upper()} must come before {word}")
        if following.token_type == token_type:
            parser.raise_error(f"one {word} expected")
        if place >= _OF_THE_WHOLE and following.token_type in _SET_OPERATIONS:
            parser.raise_error(f"parentheses around a query with {word} before {following.text.upper()} expected")
        return clause

    return parse_clause

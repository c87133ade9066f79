"""Hints for queries that cannot be parsed: misspelt keywords, and syntax of other systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import did_you_mean

_KEYWORDS = (
    *("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "JOIN", "LEFT", "RIGHT", "INNER", "CROSS"),
    *("LATERAL", "DISTRIBUTE", "CLUSTER", "BETWEEN", "LIKE", "VALUES", "OVERWRITE", "PARTITION", "WHEN", "THEN"),
)
_BY = ("GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "PARTITION")
_SIGNS: Mapping[str, str] = {
    **dict.fromkeys("?:", "the DB-API's cursor.execute(sql, values) fills ? and :name"),
    "@": "write a name with this character in backquotes",
    "$": "${name} is a variable: SET hivevar:name=value sets it; write a name with this character in backquotes",
}
_FOREIGN: Mapping[str, str] = {
    **_SIGNS,
    "&&": "write AND",
    "=>": "write >=",
    "=<": "write <=",
    "#": "a comment begins with --",
    "FETCH": "write LIMIT n",
    "TOP": "write LIMIT n at the end of the query",
    "EXISTS": "write EXISTS (SELECT …)",
    "NOT": "write a value before NOT IN, NOT LIKE and NOT BETWEEN",
    **dict.fromkeys(("LEFT", "RIGHT", "FULL", "INNER", "CROSS", "SEMI", "ANTI"), "JOIN follows this word"),
}
"""Hints by the token at the error, or by the token before it."""


def hint_at(tokens: Sequence[Token], found: Token | None) -> str | None:
    """Hint for the token at which parsing failed."""
    if found is None:
        return None
    place = next(place for place, token in enumerate(tokens) if token.start == found.start)
    if [token.text for token in tokens[place : place + 2]] == ["/", "/"]:
        return _FOREIGN["#"]
    around = [*tokens[place : place + 1], *tokens[max(place - 1, 0) : place]]
    words = [token.text.upper() for token in around if token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)]
    for word in words:
        if word in _BY:
            return f"write {word} BY"
        if hint := _FOREIGN.get(word):
            return hint
    # `FROM t WHREE a = 1`: the misspelt word was parsed as an alias, so the token before the error is checked first.
    hints = (misspelt(word) for word in reversed(words))
    return next((hint for hint in hints if hint), None)


def sign_hint(found: Token | None) -> str | None:
    """Hint for a sign that cannot begin a value or a name."""
    return None if found is None else _SIGNS.get(found.text)


def misspelt(word: str) -> str | None:
    """Hint for a word that differs from a keyword in a letter or two."""
    alike = [keyword for keyword in _KEYWORDS if abs(len(keyword) - len(word)) < 2]
    return did_you_mean(word, alike) if word.isalpha() and word.upper() not in alike else None

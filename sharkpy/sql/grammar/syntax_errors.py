"""Syntax errors at their place in the text, with hints for misspelt keywords and for syntax of other systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import ParseError, did_you_mean
from sharkpy.base.parse_limits import shortened
from sharkpy.base.records import dataclass


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


_WINDOWS = "GROUP BY window(time, size[, slide]) or session_window(time, gap) groups rows by windows of time"
_EMIT = "CREATE CONTINUOUS TABLE name AS query keeps the answer up to date; a query reads the rows that exist and ends"
_TABLE_FUNCTIONS = ("TUMBLE", "HOP", "CUMULATE", "SESSION")
_BEFORE_AS = "write clauses of a continuous query before AS: CREATE CONTINUOUS TABLE name {} … AS query"
_CLAUSES = (
    ["TRIGGER", "EVERY"],
    ["TRIGGER", "ONCE"],
    ["TRIGGER", "AVAILABLE", "NOW"],
    ["EMIT", "APPEND"],
    ["EMIT", "UPDATE"],
    ["EMIT", "COMPLETE"],
    ["WITH", "UNBOUNDED", "STATE"],
    ["LATE", "ROWS", "TO"],
    ["ON", "BAD", "ROW"],
)
"""First words of these clauses."""
_KSQL_WINDOWS = ("TUMBLING", "HOPPING", "SESSION")


@dataclass(frozen=True, slots=True)
class ForeignStreamSyntax:
    """Unsupported construct of a stream, with a hint that says what to write instead."""

    construct: str
    token: Token
    hint: str


def foreign_stream_syntax(tokens: Sequence[Token]) -> ForeignStreamSyntax | None:
    """Find the first such construct in a query that cannot be parsed."""
    for place, token in enumerate(tokens):
        if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            continue
        words = [one.text.upper() for one in tokens[place : place + 3]]
        if (construct := _window(words)) is not None:
            return ForeignStreamSyntax(construct, token, _WINDOWS)
        if words[0] == "EMIT" and words[1:2] in (["CHANGES"], ["FINAL"]):
            return ForeignStreamSyntax(f"EMIT {words[1]}", token, _EMIT)
        if place and (clause := next((one for one in _CLAUSES if words[: len(one)] == one), None)) is not None:
            text = " ".join(clause)
            return ForeignStreamSyntax(f"{text} after a query", token, _BEFORE_AS.format(text))
    return None


def _window(words: Sequence[str]) -> str | None:
    """Name of the window construct that begins with these words, or None."""
    match words:
        case [name, "(", "TABLE"] if name in _TABLE_FUNCTIONS:
            return f"{name}(TABLE …)"
        case ["WINDOW", kind, "("] if kind in _KSQL_WINDOWS:
            return f"WINDOW {kind}"
    return None

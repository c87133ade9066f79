"""Syntax of other systems for windows and continuous queries, in queries that cannot be parsed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

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
class StreamWords:
    """Unsupported construct of a stream, with a hint that says what to write instead."""

    construct: str
    token: Token
    hint: str


def stream_words(tokens: Sequence[Token]) -> StreamWords | None:
    """Find the first such construct in a query that cannot be parsed."""
    for place, token in enumerate(tokens):
        if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            continue
        words = [one.text.upper() for one in tokens[place : place + 3]]
        if (construct := _window(words)) is not None:
            return StreamWords(construct, token, _WINDOWS)
        if words[0] == "EMIT" and words[1:2] in (["CHANGES"], ["FINAL"]):
            return StreamWords(f"EMIT {words[1]}", token, _EMIT)
        if place and (clause := next((one for one in _CLAUSES if words[: len(one)] == one), None)) is not None:
            text = " ".join(clause)
            return StreamWords(f"{text} after a query", token, _BEFORE_AS.format(text))
    return None


def _window(words: Sequence[str]) -> str | None:
    """Name of the window construct that begins with these words, or None."""
    match words:
        case [name, "(", "TABLE"] if name in _TABLE_FUNCTIONS:
            return f"{name}(TABLE …)"
        case ["WINDOW", kind, "("] if kind in _KSQL_WINDOWS:
            return f"WINDOW {kind}"
    return None

"""Tokens of long texts, made piece by piece, with long lists of literals as one token each.

Programs write long statements: IN with a hundred thousand numbers, VALUES with as many rows. A token, a tree and an
expression for each of them would take a hundred times the memory of the text, and most of the time of the statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ParseError

LONG_TEXT = 1 << 14
"""Characters from which a text is taken in pieces."""
MOST_TOKENS = 1_000_000
LITERAL_LIST = TokenType.HEREDOC_STRING
"""Type of the token of a list or of rows of literals, which HiveQL has no token of; its text is as written."""
_PIECE = 1 << 16
_LEAST_ITEMS = 1_000
_LEAST_ROWS = 100

_SINGLE = r"'[^'\\]*+(?:\\.[^'\\]*+)*+'"
_STRING = rf"""(?:{_SINGLE}|"[^"\\]*+(?:\\.[^"\\]*+)*+")"""
_NUMBER = r"-?[0-9]++(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]++)?(?![\w.])"
_CELL = rf"(?:{_NUMBER}|{_STRING}|(?:null|true|false)\b)"
_ROW = rf"\(\s*+{_CELL}(?:\s*+,\s*+{_CELL})*+\s*+\)"
_FLAGS = re.DOTALL | re.IGNORECASE
_SCANNED = re.compile(
    rf"""--[^\r\n]*|(?P<comment>/\*|\{{\#)|{_STRING}|`[^`]*+`|(?P<open>['"`])|(?P<plain>[^'"`/{{\-]++|.)""", re.DOTALL
)
_COMMENT_ENDS = {"/*": re.compile(r"/\*|\*/"), "/*+": re.compile(r"\*/"), "{#": re.compile(r"#\}")}
_OPENING = re.compile(r"\b(?:(?P<list>in\s*+\(\s*+)|(?P<rows>values\s*+))", re.IGNORECASE)
_LISTS = (
    re.compile(rf"-?[0-9]++(?:\s*+,\s*+-?[0-9]++){{{_LEAST_ITEMS - 1},}}+(?=\s*+\))", _FLAGS),
    re.compile(rf"{_SINGLE}(?:\s*+,\s*+{_SINGLE}){{{_LEAST_ITEMS - 1},}}+(?=\s*+\))", _FLAGS),
)
_ROWS = (re.compile(rf"{_ROW}(?:\s*+,\s*+{_ROW}){{{_LEAST_ROWS - 1},}}+(?!\s*+,)", _FLAGS),)
# Between two tokens that are none together: behind a comma, an operator or a space, before a word that begins one.
_CUT = re.compile(
    r"""(?<=,)|(?<=[*=<>|&%()])(?=\w)|(?<=[^e]\+)(?=\w)|(?<=[-+*/=<>|&%(,]\s)(?=\w)
    |(?<=[\w)'"`]\s)(?!(?:by|key|precision|security|sets|to|varying)\b)(?=[a-z_])""",
    re.IGNORECASE | re.VERBOSE,
)
Tokenizer = Callable[[str], list[Token]]


def tokenize_long(text: str, tokenize: Tokenizer) -> list[Token]:
    """Tokens of `text`, which `tokenize` finds in each piece; ParseError 54000 if there are more than MOST_TOKENS."""
    tokens: list[Token] = []
    start = line = 0
    for end, literals in _pieces(text):
        check_cancelled()
        for token in tokenize(text[start:end]):
            token.start += start
            token.end += start
            token.line += line
            tokens.append(token)
        line += text.count("\n", start, end)
        start = end
        if literals:
            tokens.append(Token(LITERAL_LIST, text[end:literals], line + 1, 1, end, literals - 1))
            line += text.count("\n", end, literals)
            start = literals
        if len(tokens) > MOST_TOKENS:
            message = f"the statement is too long: it has more than {MOST_TOKENS:,} words and signs"
            raise ParseError(message, hint="write it as several statements", sqlstate="54000")
    return tokens


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Ends of the pieces of `text`, each with the end of the literals that follow it, or 0."""
    start = place = 0
    while place < len(text):
        found = _SCANNED.match(text, place)
        if found is None or found.lastgroup == "open":
            break
        if found.lastgroup == "comment":
            place = _comment_end(text, found.group(), found.end())
            continue
        place, limit = found.start() if found.lastgroup == "plain" else found.end(), found.end()
        while place < limit:
            opening = _OPENING.search(text, place, limit)
            literals = 0 if opening is None else _literals_end(text, opening)
            until = limit if opening is None else opening.end()
            while (cut := _CUT.search(text, max(place, start + _PIECE), until)) is not None and cut.start() < until:
                yield cut.start(), 0
                start = cut.start()
            place = until
            if literals and opening is not None:
                yield until, literals
                start = place = literals
                break
    yield len(text), 0


def _literals_end(text: str, opening: re.Match[str]) -> int:
    """End of the list or the rows that begin behind `opening`; 0 if they are short, or not of literals alone."""
    for pattern in _LISTS if opening.lastgroup == "list" else _ROWS:
        if (found := pattern.match(text, opening.end())) is not None:
            return found.end()
    return 0


def _comment_end(text: str, opening: str, place: int) -> int:
    """End of a comment, within which others may begin and end."""
    depth = 1
    if text.startswith("+", place):
        opening = "/*+"  # a hint: none begins within it
    while depth and (found := _COMMENT_ENDS[opening].search(text, place)) is not None:
        depth += 1 if found.group() == opening else -1
        place = found.end()
    return len(text) if depth else place

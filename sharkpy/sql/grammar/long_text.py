"""Tokens of long texts, made in pieces, with each long list of literals as one token.

Programs write long statements: IN with a hundred thousand numbers, VALUES with as many rows. A token, a tree node and
an expression for each of them would take a hundred times the memory of the text, and most of the statement's time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ParseError
from sharkpy.base.records import dataclass

LONG_TEXT = 1 << 14
"""Number of characters from which on a text is split into pieces."""
MOST_TOKENS = 400_000
LITERAL_LIST = TokenType.HEREDOC_STRING
"""Token type of a list or of rows of literals, a type that HiveQL does not use. The token has the original text."""
_PIECE = 1 << 16
_LONGEST_PIECE = 1 << 18
_AHEAD = 16
"""Characters after a place that decide whether to cut there: the longest second word of a keyword."""
_LONGEST_OPENING = 1 << 12
_LEAST_ITEMS = 1_000
_LEAST_ROWS = 100

_SINGLE = r"'[^'\\]*+(?:\\.[^'\\]*+)*+'"
_STRING = rf"""(?:{_SINGLE}|"[^"\\]*+(?:\\.[^"\\]*+)*+")"""
_NUMBER = r"-?[0-9]++(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]++)?(?![\w.])"
_CELL = rf"(?:{_NUMBER}|{_STRING}|(?:null|true|false)\b)"
_ROW = rf"\(\s*+{_CELL}(?:\s*+,\s*+{_CELL})*+\s*+\)"
_FLAGS = re.DOTALL | re.IGNORECASE
# At most 64 times 1,024 characters of plain text at once: other threads cannot run during a search.
_PLAIN = r"""(?:[^'"`/{\-]{1,1024}+|/(?!\*)|\{(?!\#)|-(?!-)){1,64}+"""
_SCANNED = re.compile(
    rf"""--[^\r\n]*|(?P<comment>/\*|\{{\#)|{_STRING}|`[^`]*+`|(?P<open>['"`])|(?P<plain>{_PLAIN})""", re.DOTALL
)
_COMMENT_ENDS = {"/*": re.compile(r"/\*|\*/"), "/*+": re.compile(r"\*/"), "{#": re.compile(r"#\}")}
_OPENING = re.compile(r"\b(?:(?P<list>in\s*+\(\s*+)|(?P<rows>values\s*+))", re.IGNORECASE)
_LISTS = (
    re.compile(rf"-?[0-9]++(?:\s*+,\s*+-?[0-9]++){{{_LEAST_ITEMS - 1},}}+(?=\s*+\))", _FLAGS),
    re.compile(rf"{_SINGLE}(?:\s*+,\s*+{_SINGLE}){{{_LEAST_ITEMS - 1},}}+(?=\s*+\))", _FLAGS),
)
_ROWS = (re.compile(rf"{_ROW}(?:\s*+,\s*+{_ROW}){{{_LEAST_ROWS - 1},}}+(?!\s*+,)", _FLAGS),)
# Places between two tokens that cannot merge: after a bracket, comma or semicolon, which no other token contains;
# between an operator and a space or the same operator; after an operator or space, before a word that begins a token. A
# variable stays with its @.
_CUT = re.compile(
    r"""(?<=[()\[\],;])|(?<=[-+*/=<>|&%!^~.]\s)(?=\w)|(?<=[-+*=<>|&%!^~.])(?=\s)
    |(?<=\s)(?=[()\[\],;+*=<>|&%!^~.])|(?<=\+)(?=\+)|(?<=\*)(?=\*)|(?<=%)(?=%)|(?<=!)(?=!)|(?<=\^)(?=\^)|(?<=>>)(?=>)
    |(?<=[*/=<>|&%])(?=\w)|(?<=[^e]-)(?!defined)(?=\w)|(?<=[^e]\+)(?=\w)|(?<=[a-df-z_]\.)(?=\w)
    |(?<=[\w)'"`]\s)(?!(?:by|key|precision|security|sets|to|varying)\b)(?=[a-z_])""",
    re.IGNORECASE | re.VERBOSE,
)
# Cuts for a stretch without any of these places. No valid statement has so many spaces, comments or operators without a
# word or a bracket.
_FAR_CUT = re.compile(r"""(?<![\w`])(?![\w`])|(?<=['"`/{])(?=\w)|(?<=\w)(?=--|/\*[^+])""")
_WORD = re.compile(r"\w*+")
_ALONE = "()[],;"
"""Characters that are each a token."""
Tokenizer = Callable[[str], list[Token]]


@dataclass(frozen=True, slots=True)
class _Piece:
    """Part of a text up to `end`, then literals up to `literals`, or 0 without literals."""

    end: int
    literals: int = 0


def tokenize_long(text: str, tokenize: Tokenizer) -> list[Token]:
    """Split a long `text` into tokens, with `tokenize` for each piece.

    Raise ParseError 54000 if there are more than MOST_TOKENS.
    """
    tokens: list[Token] = []
    start = line = 0
    # All pieces come first: a text with too many signs is refused before it has tokens.
    for piece in list(_pieces(text)):
        check_cancelled()
        for token in tokenize(text[start : piece.end]):
            token.start += start
            token.end += start
            token.line += line
            tokens.append(token)
        line += text.count("\n", start, piece.end)
        start = piece.end
        if piece.literals:
            literals = text[start : piece.literals]
            tokens.append(Token(LITERAL_LIST, literals, line + 1, 1, start, piece.literals - 1))
            line += literals.count("\n")
            start = piece.literals
        _check_number(len(tokens))
    return tokens


def _check_number(tokens: int) -> None:
    if tokens > MOST_TOKENS:
        message = f"the statement is too long: it has more than {MOST_TOKENS:,} words and signs"
        raise ParseError(message, hint="write it as several statements", sqlstate="54000")


def _pieces(text: str) -> Iterator[_Piece]:
    """Pieces of `text`. Raise ParseError 54000 if they have more than MOST_TOKENS signs."""
    start = place = signs = 0
    while place < len(text):
        found = _SCANNED.match(text, place)
        if found is None or found.lastgroup == "open":
            break
        before, place = place, found.end()
        if found.lastgroup == "comment":
            place = _comment_end(text, found.group(), place)
        elif found.lastgroup == "plain":
            piece = None
            for piece in _plain_pieces(text, start, before, place):
                check_cancelled()
                yield piece
                start = piece.literals or piece.end
            literals = piece is not None and piece.literals
            signs += sum(text.count(sign, before, piece.end if piece and literals else place) for sign in _ALONE)
            _check_number(signs)
            place = literals or place
        if place - start > _LONGEST_PIECE and _FAR_CUT.match(text, place):
            check_cancelled()
            yield _Piece(place)
            start = place
    yield _Piece(len(text))


def _plain_pieces(text: str, start: int, place: int, limit: int) -> Iterator[_Piece]:
    """Pieces that end between `place` and `limit`, in text without quotes and comments.

    The first piece begins at `start`.
    """
    opening = _opening(text, place, limit)
    until = limit if opening is None else opening.end()
    # No cuts are within a word. Nor right at `place`: the two characters before it may end a comment.
    word = _WORD.match(text, place, limit)
    first = place if word is None else word.end()
    while (cut := _CUT.search(text, max(first, place + 2, start + _PIECE), until + _AHEAD)) and cut.start() < until:
        yield _Piece(cut.start())
        start = cut.start()
    if opening is not None:
        yield _Piece(opening.end(), _literals_end(text, opening))


def _opening(text: str, place: int, limit: int) -> re.Match[str] | None:
    """First opening of a long list or of rows of literals between two places."""
    for opening in _OPENING.finditer(text, place, limit + min(limit - place, _LONGEST_OPENING)):
        if opening.start() >= limit:
            return None
        if _literals_end(text, opening):
            return opening
    return None


def _literals_end(text: str, opening: re.Match[str]) -> int:
    """End of the list or rows that begin after `opening`; 0 if they are short, or have other items than literals."""
    for pattern in _LISTS if opening.lastgroup == "list" else _ROWS:
        if (found := pattern.match(text, opening.end())) is not None:
            return found.end()
    return 0


def _comment_end(text: str, opening: str, place: int) -> int:
    """End of a comment, in which other comments may be nested."""
    depth = 1
    if text.startswith("+", place):
        opening = "/*+"  # a hint: comments in it are not nested
    while depth and (found := _COMMENT_ENDS[opening].search(text, place)) is not None:
        depth += 1 if found.group() == opening else -1
        place = found.end()
    return len(text) if depth else place

"""Split a script into statements, at semicolons outside of quotes and comments."""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"""
      (?P<comment>--[^\n]*+|/\*(?!\+).*?(?:\*/|\Z))
    | (?P<quoted>'[^'\\]*+(?:\\.[^'\\]*+)*+(?:'|\Z)|"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)|`[^`]*+(?:``[^`]*+)*+(?:`|\Z))
    | (?P<escaped>\\;)
    | (?P<end>;)
    | (?P<space>\s++|\A\ufeff)
    | (?P<text>[^\s;'"`\\/-][^;'"`\\/-]*+|.)
    """,
    re.VERBOSE | re.DOTALL,
)


def split_statements(text: str) -> list[tuple[str, int]]:
    """Split a script into statements, each with the 1-based line it starts in; empty ones are left out.

    `\\;` outside of quotes is a semicolon that does not end a statement. Comments inside a statement stay.
    """
    statements: list[tuple[str, int]] = []
    start: int | None = None
    escapes: list[int] = []
    line = counted = 0
    for match in _PIECE.finditer(text):
        if match.lastgroup == "end" and start is not None:
            statements.append((_without(text, start, match.start(), escapes), line + 1))
            start, escapes = None, []
        elif match.lastgroup == "escaped":
            escapes.append(match.start())
        if start is None and match.lastgroup in ("quoted", "escaped", "text"):
            start = match.start()
            line, counted = line + text.count("\n", counted, start), start
    if start is not None:
        statements.append((_without(text, start, len(text), escapes), line + 1))
    return statements


def _without(text: str, start: int, end: int, escapes: list[int]) -> str:
    """Text of the statement between two places, without the backslashes of escaped semicolons."""
    pieces = []
    for escape in escapes:
        pieces.append(text[start:escape])
        start = escape + 1
    return "".join((*pieces, text[start:end])).rstrip()

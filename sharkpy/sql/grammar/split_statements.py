"""Splitting of a script into statements, at semicolons outside of quotes and comments."""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"""
      (?P<comment>--[^\n]*|/\*(?!\+).*?(?:\*/|\Z))
    | (?P<quoted>'(?:\\.|[^'\\])*+(?:'|\Z)|"(?:\\.|[^"\\])*+(?:"|\Z)|`[^`]*+(?:``[^`]*+)*+(?:`|\Z))
    | (?P<escaped>\\;)
    | (?P<end>;)
    | (?P<space>\s+)
    | (?P<text>[^\s;'"`\\/-]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)


def split_statements(text: str) -> list[tuple[str, int]]:
    """Split a script into statements, each with the 1-based line it starts in; empty ones are left out.

    `\\;` outside of quotes is a semicolon that does not end a statement. Comments inside a statement stay.
    """
    statements: list[tuple[str, int]] = []
    pieces: list[str] = []
    line, start_line = 1, 0
    for match in _PIECE.finditer(text):
        piece = match.group()
        if match.lastgroup == "end":
            _finish(statements, pieces, start_line)
            pieces, start_line = [], 0
        else:
            if not start_line and match.lastgroup not in ("space", "comment"):
                start_line = line
            if start_line:
                pieces.append(";" if match.lastgroup == "escaped" else piece)
        line += piece.count("\n")
    _finish(statements, pieces, start_line)
    return statements


def _finish(statements: list[tuple[str, int]], pieces: list[str], start_line: int) -> None:
    if start_line:
        statements.append(("".join(pieces).rstrip(), start_line))

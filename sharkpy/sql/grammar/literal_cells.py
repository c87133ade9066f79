"""Literals of a LITERAL_LIST token: the items of a list, or rows of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot.tokenizer_core import TokenType

from sharkpy.base.cancellation import check_cancelled
from sharkpy.sql.grammar import dialect

Cell = tuple[TokenType, str]
"""Literal of a row. A number may have a minus sign."""
_PART = re.compile(
    r"""(?P<string>'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+")|(?P<end>\))|(?P<cell>[^\s,()]++)""",
    re.DOTALL,
)
_WORDS = {"NULL": TokenType.NULL, "TRUE": TokenType.TRUE, "FALSE": TokenType.FALSE}
_CELLS_BETWEEN_CHECKS = 10_000


def rows_of(text: str) -> Iterator[list[Cell]]:
    """Rows of `(1, 'a'), (2, 'b')`."""
    row: list[Cell] = []
    for number, part in enumerate(_PART.finditer(text)):
        if number % _CELLS_BETWEEN_CHECKS == 0:
            check_cancelled()
        if part.lastgroup == "end":
            yield row
            row = []
        else:
            row.append(_cell(part))


def items_of(text: str) -> list[Cell]:
    """Items of `1, 2, 3`."""
    return next(rows_of(text + ")"))


def _cell(part: re.Match[str]) -> Cell:
    text = part.group()
    if part.lastgroup == "cell":
        kind = _WORDS.get(text.upper(), TokenType.NUMBER)
        return kind, text
    # The tokenizer resolves escapes.
    return TokenType.STRING, dialect.tokenize(text)[0].text if "\\" in text else text[1:-1]

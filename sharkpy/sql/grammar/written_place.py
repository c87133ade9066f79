"""Places for errors of running commands, which know names alone: the name's place in the statement."""

from __future__ import annotations

import re

from sharkpy.base.errors import SharkError
from sharkpy.sql.grammar.parser import tokenize
from sharkpy.sql.grammar.syntax_error import place

_QUOTED = re.compile(r'"([^"]+)"|\b(?:not found|found) (\S+)')


def add_place(error: SharkError, text: str) -> None:
    """Give an error without a place that of the first token of `text` that its message quotes."""
    match = _QUOTED.search(error.message)
    if error.line is not None or match is None:
        return
    names = {name.lower() for name in (match[1] or match[2], (match[1] or match[2]).rpartition(".")[2])}
    try:
        tokens = tokenize(text)
    except SharkError:
        return
    for token in tokens:
        if token.text.lower() in names:
            error.line, error.column = place(text, token.start)
            return

"""Places in the statement for errors of running commands, which know only the names of objects."""

from __future__ import annotations

import re

from sharkpy.base.errors import SharkError
from sharkpy.sql.grammar.parser import tokenize
from sharkpy.sql.grammar.syntax_error import place

_QUOTED = re.compile(r'"([^"]+)"|\b(?:not found|found) (\S+)')


def add_place(error: SharkError, text: str) -> None:
    """Set the place of an error without one to the first token of `text` that its message quotes."""
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

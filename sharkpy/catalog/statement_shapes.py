"""Shapes of statements: their texts with `?` for literals, so that runs of the same statement are one group."""

from __future__ import annotations

import hashlib
import re

_MOST_CHARACTERS = 4_000
"""Characters of a text of which the shape is made."""
_TOKENS = re.compile(
    r"""(?P<literal>'(?:[^'\\]|\\.|'')*'?|"(?:[^"\\]|\\.|"")*"?|(?<![\w`.])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[a-zA-Z]*\b)"""
    r"""|(?P<name>`[^`]*`?)|(?P<space>(?:\s+|--[^\n]*|/\*.*?(?:\*/|\Z))+)""",
    re.DOTALL,
)
_LISTS = re.compile(r"\(\s*\?(?:\s*,\s*\?)*\s*\)")
_ROWS = re.compile(r"\(\?\)(?:\s*,\s*\(\?\))+")


def shape_of(text: str) -> str:
    """Return a statement's text without comments and with `?` for literals and for lists of literals."""
    plain = _TOKENS.sub(_replaced, text[:_MOST_CHARACTERS]).strip().rstrip(";").rstrip()
    return _ROWS.sub("(?)", _LISTS.sub("(?)", plain))


def shape_number(text: str) -> int:
    """Return a number that statements of the same shape have in common, in 64 bits. The case of letters is ignored."""
    digest = hashlib.blake2b(shape_of(text).lower().encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _replaced(match: re.Match[str]) -> str:
    if match["literal"] is not None:
        return "?"
    return " " if match["space"] is not None else match[0]

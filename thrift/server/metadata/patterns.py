"""Name patterns of metadata calls: JDBC's, and the habits of Hive's clients."""

from __future__ import annotations

import re
from collections.abc import Callable

_PARTS = re.compile(r"\\(?P<literal>.)|(?P<any>%|\.?\*)|(?P<one>_)|(?P<plain>.)", re.DOTALL)
NameTest = Callable[[str], object]
"""Test of a name; anything true is yes."""


def name_test(pattern: str | None) -> NameTest:
    r"""Test of the names that `pattern` means, case ignored. None and "" mean any.

    `%`, `*` and `.*` are any characters, `_` is one, `\` makes the next character an ordinary one, `|` parts
    alternatives. impyla sends `.*`, the old Hive drivers `*`.
    """
    if not pattern:
        return lambda name: True  # noqa: ARG005
    texts = ["".join(_regex(part) for part in _PARTS.finditer(text)) for text in pattern.split("|")]
    return re.compile("|".join(texts), re.IGNORECASE | re.DOTALL).fullmatch


def _regex(part: re.Match[str]) -> str:
    match part.lastgroup:
        case "any":
            return ".*"
        case "one":
            return "."
    return re.escape(part[part.lastgroup or 0])

"""Name patterns of metadata calls: JDBC's, and the habits of Hive's clients."""

from __future__ import annotations

import re
from collections.abc import Callable

from sharkpy.base.wildcards import Wildcard, matches_wildcards

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
    alternatives = [[_part(part) for part in _PARTS.finditer(text)] for text in pattern.split("|")]
    return lambda name: any(matches_wildcards(name, parts) for parts in alternatives)


def _part(part: re.Match[str]) -> str | Wildcard:
    match part.lastgroup:
        case "any":
            return Wildcard.ANY
        case "one":
            return Wildcard.ONE
    return part[part.lastgroup or 0]

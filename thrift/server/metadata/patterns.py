"""Name patterns of metadata calls, as JDBC and Hive's clients write them."""

from __future__ import annotations

import re
from collections.abc import Callable

from sharkpy.base.wildcards import Wildcard, matches_wildcards

_PARTS = re.compile(r"\\(?P<literal>.)|(?P<any>%|\.?\*)|(?P<one>_)|(?P<plain>.)", re.DOTALL)
NameTest = Callable[[str], object]
"""Test of a name; any true value means that the name matches."""


def name_test(pattern: str | None) -> NameTest:
    r"""Return a test of names that match `pattern`, ignoring case. None and "" match every name.

    `%`, `*` and `.*` match any characters, `_` matches one, `\` makes the next character an ordinary one, and `|`
    separates alternatives. impyla sends `.*`, the old Hive drivers `*`.
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

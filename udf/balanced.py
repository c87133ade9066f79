"""SQL of an operator over many terms as a balanced tree, since DuckDB recurses once per level of an expression."""

from __future__ import annotations

from collections.abc import Sequence

_FLAT = 16
"""Number of terms up to which a chain stays flat."""


def balanced(sign: str, terms: Sequence[str]) -> str:
    """Return `a + b + …` in parentheses, in order, for an operator that may group its terms freely."""
    if len(terms) <= _FLAT:
        return f"({f' {sign} '.join(terms)})"
    middle = len(terms) // 2
    return f"({balanced(sign, terms[:middle])} {sign} {balanced(sign, terms[middle:])})"

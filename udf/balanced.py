"""SQL of an operator over many terms as a balanced tree: DuckDB recurses once for each level of an expression."""

from __future__ import annotations

from collections.abc import Sequence

_FLAT = 16
"""Terms up to which a chain stays as it is written."""


def balanced(sign: str, terms: Sequence[str]) -> str:
    """`a + b + …` in parentheses, for an operator that may group its terms in any way, in their order."""
    if len(terms) <= _FLAT:
        return f"({f' {sign} '.join(terms)})"
    middle = len(terms) // 2
    return f"({balanced(sign, terms[:middle])} {sign} {balanced(sign, terms[middle:])})"

"""Random Java patterns and texts for them."""

from __future__ import annotations

from hypothesis import strategies as st

_PLAIN = ("a", "b", "é", ".", "[ab]", "[^a]", "[a-c&&[^b]]", "\\d", "\\w", "\\s", "\\R", "\\p{L}", "\\P{Lu}", "\\h")
_PLACES = ("^", "$", "\\b", "\\B", "\\Z", "\\z", "\\A")
_FLAGGED = ("(?i:aB)", "(?m:^a$)", "(?s:.)", "(?x: a # b\n)", "(?d:a.$)")
_TRIED = ("(?=a)", "(?!b)", "(?<=a)", "(?<!b)", "(?>a*)", "a*+", "\\1")
TEXTS = st.text("ab1 éBA\n\r\u2028", max_size=8)


def java_patterns(*, backtracking: bool) -> st.SearchStrategy[str]:
    atoms = st.sampled_from((*_PLAIN, *_PLACES, *_FLAGGED, *(_TRIED if backtracking else ())))
    counts = st.sampled_from(["*", "+", "?", "*?", "??", "{2}", "{0,2}", "{1,}?"])
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map("".join),
            st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
            inner.map(lambda one: f"({one})"),
            st.tuples(inner, counts).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
        ),
        max_leaves=5,
    )

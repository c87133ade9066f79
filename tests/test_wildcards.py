"""Patterns of names."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharkpy.base.wildcards import Pattern, Wildcard, matches_wildcards

parts = st.lists(st.sampled_from([Wildcard.ANY, Wildcard.ONE, "a", "B", "é", "."]), max_size=6)


@given(st.text("aAbBéÉ.\n", max_size=8), parts)
def test_wildcards_are_those_of_a_regular_expression(text: str, pattern: Pattern) -> None:
    spelled = {Wildcard.ANY: ".*", Wildcard.ONE: "."}
    expression = "".join(spelled[part] if isinstance(part, Wildcard) else re.escape(part) for part in pattern)
    expected = re.fullmatch(expression, text, re.IGNORECASE | re.DOTALL) is not None
    assert matches_wildcards(text, pattern) == expected


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("", "", True),
        ("a", "", False),
        ("aXbXc", ["a", Wildcard.ANY, "b", Wildcard.ANY, "c"], True),
        ("ab", ["a", "b", Wildcard.ANY, "b"], False),
        ("İ", ["İ"], True),
    ],
)
def test_texts_between_wildcards_do_not_overlap(text: str, pattern: Pattern, expected: bool) -> None:
    assert matches_wildcards(text, pattern) == expected

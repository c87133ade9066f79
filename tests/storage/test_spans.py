"""Ranges of bytes that are there."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.sources.storage.fetched_files import Spans

RANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)))


@settings(deadline=None)
@given(RANGES, RANGES)
def test_missing_is_what_was_not_added(added: list[tuple[int, int]], wanted: list[tuple[int, int]]) -> None:
    spans, there = Spans(), set[int]()
    for start, end in added:
        spans.add(start, end)
        there |= set(range(start, end))
    assert spans.size_bytes == len(there)
    for start, end in wanted:
        missing = spans.missing([(start, end)])
        assert all(first < last for first, last in missing)
        assert {byte for part in missing for byte in range(*part)} == set(range(start, end)) - there
        assert sum(last - first for first, last in missing) == len(set(range(start, end)) - there)

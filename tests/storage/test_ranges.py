"""Ranges of bytes as requests."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.sources.storage.fetched_files import coalesced
from tests.examples import examples

_RANGE = st.tuples(st.integers(0, 300), st.integers(-5, 40)).map(lambda pair: (pair[0], sum(pair)))
_RANGES = st.lists(_RANGE, max_size=12)


@settings(max_examples=examples(500))
@given(_RANGES, st.sampled_from([0.0, 0.05, 0.3, 2.0]), st.integers(0, 60), st.integers(1, 50))
def test_requests_cover_what_is_wanted(ranges: list[tuple[int, int]], waste: float, most_gap: int, most: int) -> None:
    wanted = {at for start, end in ranges for at in range(start, end)}
    requests = coalesced(ranges, waste, most_gap, most)
    read = [at for start, end in requests for at in range(start, end)]
    assert wanted <= set(read)
    assert read == sorted(set(read))
    assert all(0 < end - start <= most for start, end in requests)
    assert len(read) - len(wanted) <= waste * len(wanted)
    extra = sorted(set(read) - wanted)
    assert all(_gap_of(at, wanted) <= most_gap for at in extra)


@settings(max_examples=examples(200))
@given(_RANGES, st.sampled_from([0.0, 0.05, 0.3, 2.0]), st.integers(0, 60))
def test_joining_never_makes_more_requests(ranges: list[tuple[int, int]], waste: float, most_gap: int) -> None:
    alone = coalesced(ranges, 0, 0)
    joined = coalesced(ranges, waste, most_gap)
    assert len(joined) <= len(alone)
    assert {start for start, _ in joined} <= {start for start, _ in alone}
    assert {end for _, end in joined} <= {end for _, end in alone}
    assert coalesced(alone, waste, most_gap) == joined


def _gap_of(at: int, wanted: set[int]) -> int:
    """Size of the gap that contains a byte."""
    before = max(one for one in wanted if one < at)
    after = min(one for one in wanted if one > at)
    return after - before - 1


def test_small_gaps_are_read_first() -> None:
    ranges = [(0, 1_000), (1_040, 2_000), (2_010, 3_000), (3_030, 4_000)]
    assert coalesced(ranges) == [(0, 4_000)]
    assert coalesced(ranges, waste=0.01) == [(0, 1_000), (1_040, 3_000), (3_030, 4_000)]
    assert coalesced(ranges, most_gap=10) == [(0, 1_000), (1_040, 3_000), (3_030, 4_000)]


def test_a_large_range_is_several_requests() -> None:
    mega = 1 << 20
    requests = coalesced([(5, 5 + 100 * mega)])
    assert len(requests) == 7
    assert all(before[1] == after[0] for before, after in pairwise(requests))
    assert max(end - start for start, end in requests) - min(end - start for start, end in requests) < 16


def test_there_is_nothing_to_read() -> None:
    assert coalesced([]) == coalesced([(5, 5), (7, 3)]) == []

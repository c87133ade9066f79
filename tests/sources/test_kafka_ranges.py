"""Splits of ranges of offsets: together they hold each offset once."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.sources.kafka.fetch import OffsetRange, range_splits, ranges_between, ranges_of
from tests.examples import examples

POSITIONS = st.lists(st.integers(0, 60), max_size=6).map(tuple)


@given(start=POSITIONS, end=POSITIONS, shared=st.integers(1, 20), most=st.integers(1, 50))
@settings(max_examples=examples(300))
def test_splits_hold_each_offset_once(start: tuple[int, ...], end: tuple[int, ...], shared: int, most: int) -> None:
    start = start[: len(end)]
    splits = range_splits(ranges_between(start, end), "t", (("topic", "t"),), shared, most)
    held = [
        (one.partition, offset) for split in splits for one in ranges_of(split) for offset in range(one.start, one.end)
    ]
    first = [*start, *[0] * len(end)]
    expected = [(place, offset) for place, last in enumerate(end) for offset in range(first[place], last)]
    assert held == expected
    for split in splits:
        ranges = ranges_of(split)
        assert len({one.partition for one in ranges}) == len(ranges)
        assert split.length == sum(one.length for one in ranges)
        assert split.length <= (most if len(ranges) == 1 else shared)
    assert len({split.path for split in splits}) == len(splits)


def test_small_ranges_share_a_split() -> None:
    splits = range_splits(ranges_between((5, 0), (8, 4, 0, 1)), "t", ())
    assert [ranges_of(split) for split in splits] == [
        [OffsetRange(0, 5, 8), OffsetRange(1, 0, 4), OffsetRange(3, 0, 1)]
    ]

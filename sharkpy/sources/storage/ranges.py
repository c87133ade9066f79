"""Ranges of bytes as requests: near ones are joined, large ones are split to run in parallel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

Range = tuple[int, int]
"""Start, and the end after the last byte."""


def coalesced(
    ranges: Iterable[Range], waste: float = 0.05, most_gap: int = 1 << 20, most: int = 16 << 20
) -> list[Range]:
    """Ranges that cover `ranges`, sorted, without overlaps, none of more than `most` bytes.

    Gaps of at most `most_gap` bytes are read too, the smallest first, as long as all gaps together have at most `waste`
    of the wanted bytes.
    """
    wanted = _union(ranges)
    room = int(waste * sum(end - start for start, end in wanted))
    filled = set[int]()
    for gap, place in sorted((after[0] - before[1], place) for place, (before, after) in enumerate(pairwise(wanted))):
        if gap > min(room, most_gap):
            break
        room -= gap
        filled.add(place + 1)
    joined = list[Range]()
    for place, (start, end) in enumerate(wanted):
        if place in filled:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return [piece for start, end in joined for piece in _cut(start, end, most)]


def _union(ranges: Iterable[Range]) -> list[Range]:
    """The same bytes as ranges that are sorted and do not touch."""
    found = list[Range]()
    for start, end in sorted(ranges):
        if start >= end:
            continue
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _cut(start: int, end: int, most: int) -> Iterator[Range]:
    """Pieces of nearly equal size."""
    count = -(-(end - start) // most)
    size = -(-(end - start) // count)
    for at in range(start, end, size):
        yield at, min(at + size, end)

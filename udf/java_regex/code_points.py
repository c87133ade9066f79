"""Sets of code points: the values of Java's character classes, closed under union, intersection and complement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

LAST = 0x10FFFF
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CharSet:
    """Code points of `ranges` (ordered, disjoint, both ends included) and general categories, or their complement."""

    ranges: tuple[Range, ...] = ()
    categories: tuple[str, ...] = ()
    negated: bool = False

    def complement(self) -> CharSet:
        return CharSet(self.ranges, self.categories, not self.negated)

    def union(self, *others: CharSet) -> CharSet:
        distinct = dict.fromkeys((self, *others))
        if len(distinct) == 1:
            return self
        sets = [one.resolved() if one.negated else one for one in distinct]
        categories = dict.fromkeys(name for one in sets for name in one.categories)
        return CharSet(_joined(pair for one in sets for pair in one.ranges), tuple(categories))

    def intersection(self, other: CharSet) -> CharSet:
        outside = self.complement().resolved().union(other.complement().resolved())
        return outside.complement().resolved()

    def resolved(self) -> CharSet:
        """Return the same set as ranges only."""
        if not self.categories and not self.negated:
            return self
        ranges = _joined((*self.ranges, *(pair for name in self.categories for pair in property_ranges(name))))
        return CharSet(_gaps(ranges) if self.negated else ranges)

    def with_both_cases(self) -> CharSet:
        """Return the set with the other case of each of its ASCII letters."""
        swapped = [
            (low ^ 32, high ^ 32)
            for start, end in self.ranges
            for first, last in ((65, 90), (97, 122))
            if (low := max(start, first)) <= (high := min(end, last))
        ]
        return CharSet(_joined((*self.ranges, *swapped)), self.categories, self.negated)


def chars(text: str) -> CharSet:
    return of_ranges((ord(char), ord(char)) for char in text)


EVERYTHING = CharSet(((0, LAST),))


def of_ranges(ranges: Iterable[Range]) -> CharSet:
    return CharSet(_joined(ranges))


def _joined(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Return ranges in order. Overlapping or adjacent ranges are merged."""
    joined: list[Range] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return tuple(joined)


def _gaps(ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    starts = (0, *(high + 1 for _, high in ranges))
    ends = (*(low - 1 for low, _ in ranges), LAST)
    return tuple((low, high) for low, high in zip(starts, ends, strict=True) if low <= high)


@lru_cache(maxsize=64)
def property_ranges(name: str) -> tuple[Range, ...]:
    """Return the code points with a Unicode property, by the tables of `regex`. Raise LookupError for an unknown
    property.
    """
    import regex

    try:
        pattern = regex.compile(rf"\p{{{name}}}+")
    except regex.error:
        raise LookupError(name) from None
    return tuple((match.start(), match.end() - 1) for match in pattern.finditer(_every_character()))


@lru_cache(maxsize=1)
def _every_character() -> str:
    return "".join(map(chr, range(LAST + 1)))

"""substring_index: the part of a text before or after a number of delimiters."""

from __future__ import annotations

from sharkpy.base.cancellation import check_cancelled

_CHECKED = 1 << 14


def substring_index(text: str, delimiter: str, count: int) -> str:
    """Find delimiters as Hive and Spark do: each starts after the start of the previous one, so they may overlap."""
    if not delimiter or not count:
        return ""
    place = -1 if count > 0 else len(text)
    for number in range(abs(count)):
        if number % _CHECKED == 0:
            check_cancelled()
        if count > 0:
            place = text.find(delimiter, place + 1)
        else:
            place = text.rfind(delimiter, 0, max(place - 1 + len(delimiter), 0))
        if place < 0:
            return text
    return text[:place] if count > 0 else text[place + len(delimiter) :]


def overlaps_itself(delimiter: str) -> bool:
    """Return whether an end of the delimiter is also its start. An empty delimiter counts too."""
    return not delimiter or any(delimiter.startswith(delimiter[place:]) for place in range(1, len(delimiter)))

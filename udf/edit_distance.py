"""Levenshtein distance by the bit-parallel algorithm of Myers (1999), in blocks of Python's long integers.

A block holds some rows of the table of distances. Per row, bits tell whether its value is one more or one less than the
row above. The block moves over the columns with a few integer operations per column. The changes of its last row are
the input of the block below.
"""

from __future__ import annotations

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ResourceError

_BLOCK = 16_384
_CHECKED_COLUMNS = 2048
_LEAST_ROWS = 1000
"""Number of rows from which a column takes longer."""
MOST_PAIRS = 4_000_000_000
"""Pairs of characters that one call compares at most: about a second of work."""


def levenshtein(left: str, right: str) -> int:
    """Return the number of insertions, removals and replacements of characters that turn one string into the other."""
    rows, columns = sorted((left, right), key=len)
    if not rows:
        return len(columns)
    if max(len(rows), _LEAST_ROWS) * len(columns) > MOST_PAIRS:
        raise ResourceError(
            f"levenshtein of texts of {len(left)} and {len(right)} characters is too much work",
            hint=f"at most {MOST_PAIRS} pairs of characters are compared, and {MOST_PAIRS // _LEAST_ROWS} characters",
            sqlstate="54001",
        )
    steps = [1] * len(columns)
    for start in range(0, len(rows), _BLOCK):
        steps = _below(rows[start : start + _BLOCK], columns, steps)
    return len(rows) + sum(steps)


def _below(block: str, columns: str, steps: list[int]) -> list[int]:
    """Return the changes of the block's last row from column to column, given the changes of the row above the
    block.
    """
    places: dict[str, int] = {}
    for row, char in enumerate(block):
        places[char] = places.get(char, 0) | 1 << row
    every, last = (1 << len(block)) - 1, 1 << len(block) - 1
    more, less = every, 0
    result = []
    for column, (char, step) in enumerate(zip(columns, steps, strict=True)):
        if column % _CHECKED_COLUMNS == 0:
            check_cancelled()
        equal = places.get(char, 0)
        vertical = equal | less
        if step < 0:
            equal |= 1
        across = ((((equal & more) + more) ^ more) | equal) & every
        plus, minus = less | (every & ~(across | more)), more & across
        result.append(1 if plus & last else -1 if minus & last else 0)
        plus, minus = plus << 1 & every | (step > 0), minus << 1 & every | (step < 0)
        more, less = minus | (every & ~(vertical | plus)), plus & vertical
    return result

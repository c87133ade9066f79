"""Groups of small splits: a table of thousands of small files is loaded as a few blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sharkpy.sources.source import Split

_MANY = 64
"""Number of splits below which each has its own blocks."""
_MOST_ROWS = 128 << 10
_MOST_BYTES = 4 << 20
"""Limits on the rows and file bytes of a group."""


def split_groups(splits: Sequence[Split], block_rows: int) -> Iterator[tuple[Split, ...]]:
    """Group neighbouring small splits of a Hive partition if there are many splits. Large splits stay single.

    A group fits a block: a file with an unknown number of rows has at most one row per byte.
    """
    if len(splits) < _MANY:
        yield from ((split,) for split in splits)
        return
    group: list[Split] = []
    rows, size = 0, 0
    for split in splits:
        own_rows = split.file_bytes if split.num_rows is None else split.num_rows
        rows, size = rows + own_rows, size + split.file_bytes
        is_full = rows > min(block_rows, _MOST_ROWS) or size > _MOST_BYTES
        if group and (is_full or split.partition != group[0].partition):
            yield tuple(group)
            group, rows, size = [], own_rows, split.file_bytes
        group.append(split)
    yield tuple(group)

"""Shares of rows in a range, from the bounds and sets of blocks."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sharkpy.columnar.block_ranges import Limit, prefix_share, range_share
from sharkpy.columnar.statistics_table import ColumnTable
from tests.columnar.test_distinct_sketch import table_of


def column(*blocks: list[object]) -> ColumnTable:
    return table_of([pa.array(block) for block in blocks]).columns["x"]


SPREAD = column(list(range(1000)), list(range(1000, 2000)), [*range(90_000, 90_100), *range(99_000, 99_100)])
"""Most values far below the middle of the whole range."""
FEW = column([1, 2, 3, 3, 40], [1, 1, 1, 1, 100])


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ([("lt", 1000)], 1000 / 2200),
        ([("ge", 500), ("lt", 1500)], 1000 / 2200),
        ([("gt", 5000)], 200 / 2200),
        ([("gt", 500_000)], 0.0),
        ([("le", 500_000)], 1.0),
    ],
)
def test_blocks_are_the_histogram(limits: list[Limit], expected: float) -> None:
    assert range_share(SPREAD, limits) == pytest.approx(expected, abs=0.002)


def test_values_that_are_known_are_counted() -> None:
    assert range_share(FEW, [("lt", 40)]) == pytest.approx((5 * 3 / 4 + 5 * 1 / 2) / 10)
    assert range_share(FEW, [("le", 40)]) == pytest.approx((5 * 4 / 4 + 5 * 1 / 2) / 10)


def test_prefixes_of_clustered_strings() -> None:
    blocks = [[f"{letter}{number:04}" for number in range(500)] for letter in "abcd"]
    share = prefix_share(column(*blocks), "c")
    assert share == pytest.approx(0.25, rel=0.3)
    assert prefix_share(column(*blocks), "x") == 0.0


def test_a_prefix_that_a_block_may_hold_is_never_next_to_nothing() -> None:
    share = prefix_share(column([f"{letter} text {n}" for letter in "abcdz" for n in range(100)]), "c text")
    assert share is not None
    assert share >= 0.01


def test_nothing_is_said_of_unknown_bounds() -> None:
    assert range_share(column([1.0, float("nan")]), [("lt", 2.0)]) is None
    assert range_share(column([1, 2]), [("lt", "text")]) is None

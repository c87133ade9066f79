"""Names that come twice get numbers that no other column has."""

from __future__ import annotations

import pytest

from sharkpy.values.types import distinct_names


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], []),
        (["a", "b"], ["a", "b"]),
        (["a", "a", "a"], ["a", "a_1", "a_2"]),
        (["a", "a", "a_1", "a"], ["a", "a_2", "a_1", "a_3"]),
        (["a_1", "a", "a", "a_1"], ["a_1", "a", "a_2", "a_1_1"]),
    ],
)
def test_distinct_names(names: list[str], expected: list[str]) -> None:
    assert distinct_names(names) == expected
    assert len(set(distinct_names(names * 3))) == 3 * len(names)

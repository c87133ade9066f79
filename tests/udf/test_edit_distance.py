"""Levenshtein distance by blocks of bits, against the table of distances."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.base.errors import ResourceError
from sharkpy.udf import string_kernels
from sharkpy.udf.string_kernels import levenshtein
from tests.examples import examples

TEXTS = st.text("abé", max_size=30)


def _by_table(left: str, right: str) -> int:
    previous = list(range(len(right) + 1))
    for row, one in enumerate(left, 1):
        current = [row]
        for column, other in enumerate(right, 1):
            current.append(min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (one != other)))
        previous = current
    return previous[-1]


@settings(max_examples=examples(600), deadline=None)
@given(TEXTS, TEXTS, st.sampled_from((1, 2, 7, 16_384)))
def test_same_as_by_the_table(left: str, right: str, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(string_kernels, "_BLOCK", block)
        assert levenshtein(left, right) == _by_table(left, right)


def test_several_blocks() -> None:
    assert levenshtein("ab" * 10_000, "ba" * 10_000) == 2
    assert levenshtein("x" * 20_000, "y" * 20_001) == 20_001


@pytest.mark.parametrize(("left", "right"), [(100_000, 100_000), (1, 5_000_000)])
def test_too_much_work_is_refused(left: int, right: int) -> None:
    with pytest.raises(ResourceError, match="is too much work") as error:
        levenshtein("a" * left, "b" * right)
    assert error.value.sqlstate == "54001"

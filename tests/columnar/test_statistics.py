"""Statistics agree with Arrow's over the same column."""

from __future__ import annotations

import math

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.columnar.domain import Domain, domain_of, from_domain, to_domain
from sharkpy.columnar.profile import ColumnProfile
from sharkpy.columnar.statistics_table import ColumnStatistics, column_statistics
from sharkpy.values import types as t
from tests.columnar.columns import NULL_PATTERNS, SHAPES, TYPES, column

ORDERED = [dtype for dtype in TYPES if domain_of(dtype) is not Domain.NONE]


def statistics(array: pa.Array, dtype: t.DataType) -> ColumnStatistics:
    return column_statistics(ColumnProfile(array, dtype), 1)


@pytest.mark.variants(3)
@pytest.mark.parametrize("dtype", ORDERED, ids=str)
@settings(max_examples=40, deadline=None)
@given(
    num_rows=st.sampled_from((0, 1, 65, 1025, 5000)),
    nulls=st.sampled_from(NULL_PATTERNS),
    shape=st.sampled_from(SHAPES),
    seed=st.integers(0, 1 << 30),
)
def test_bounds_and_distinct_sets(dtype: t.DataType, num_rows: int, nulls: str, shape: str, seed: int) -> None:
    array = column(dtype, num_rows, nulls, shape, seed)
    stats = statistics(array, dtype)
    values = [v for v in array.to_pylist() if v is not None and v == v]
    assert (stats.num_rows, stats.null_count) == (num_rows, array.null_count)
    assert stats.has_nan == any(v != v for v in array.to_pylist())
    domain = sorted(to_domain(v, dtype) for v in values)
    fits = not domain or not isinstance(domain[0], int) or (domain[0] >= -(1 << 63) and domain[-1] < 1 << 63)
    if not fits:
        assert (stats.low, stats.high, stats.exact) == (None, None, False)
        return
    assert (stats.low, stats.high) == ((domain[0], domain[-1]) if domain else (None, None))
    distinct = sorted(set(domain))
    assert stats.distinct is None or list(stats.distinct) == distinct
    if len(distinct) <= 60 and dtype != t.DecimalType(38, 10):
        assert stats.distinct is not None


@settings(max_examples=300, deadline=None)
@given(
    start=st.binary(max_size=20),
    ends=st.lists(st.one_of(st.binary(max_size=20), st.text("ab\x00", max_size=20).map(str.encode)), min_size=1),
    skipped=st.integers(0, 2),
)
def test_bounds_of_byte_strings_that_begin_alike(start: bytes, ends: list[bytes], skipped: int) -> None:
    values = [start + end for end in ends]
    array = pa.array([b"x"] * skipped + [*values, None], pa.binary()).slice(skipped)
    stats = statistics(array, t.BINARY)
    assert (stats.low, stats.high) == (min(values), max(values))


@pytest.mark.parametrize("dtype", ORDERED, ids=str)
def test_values_come_back_from_their_domain(dtype: t.DataType) -> None:
    for value in column(dtype, 200, "none", "wide", 1).to_pylist():
        if value == value:
            bound = to_domain(value, dtype)
            assert bound is not None
            assert from_domain(bound, dtype) == value


def test_number_of_distinct_values() -> None:
    keys = pa.array([index % 70_000 for index in range(200_000)], pa.int64())
    assert math.isclose(statistics(keys, t.BIGINT).num_distinct, 70_000, rel_tol=0.02)
    unique = pa.array([index * 1_000_003 for index in range(100_000)], pa.int64())
    assert math.isclose(statistics(unique, t.BIGINT).num_distinct, 100_000, rel_tol=0.02)
    assert statistics(pa.array([1.5, 2.5, None]), t.DOUBLE).num_distinct == 2


def test_long_texts_are_cut_to_bounds() -> None:
    array = pa.array(["b" * 1000, "c" * 1000])
    stats = statistics(array, t.STRING)
    assert not stats.exact
    assert len(stats.low) <= 256
    assert stats.low <= b"b" * 1000
    assert stats.high >= b"c" * 1000
    assert len(stats.high) <= 256
    top = statistics(pa.array([b"\xff" * 1000]), t.BINARY)
    assert top.high is None


def test_min_of_floats_ignores_nan_and_tells_of_it() -> None:
    stats = statistics(pa.array([float("nan"), 2.0, 1.0]), t.DOUBLE)
    assert (stats.low, stats.high, stats.has_nan, stats.distinct) == (1.0, 2.0, True, (1.0, 2.0))
    assert statistics(pa.array([float("nan")]), t.DOUBLE).low is None


def test_minimum_is_arrows() -> None:
    array = column(t.TIMESTAMP, 1000, "some", "wide", 4)
    assert from_domain(statistics(array, t.TIMESTAMP).low, t.TIMESTAMP) == pc.min(array).as_py()

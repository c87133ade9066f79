"""Decoded columns kept between queries: found again, bounded in bytes, dropped together with their block."""

from __future__ import annotations

import gc

import pyarrow as pa
import pytest

from sharkpy.columnar.block import Block, encode_block
from sharkpy.columnar.block_cache import ColumnCache
from sharkpy.values import types as t

SCHEMA = t.Schema((t.Field("x", t.BIGINT),))
ROWS = 1000


def block(encoding: str = "delta") -> Block:
    return Block.from_buffer(encode_block(pa.table({"x": range(ROWS)}), SCHEMA, force_encoding=encoding).content)


def unexpected() -> pa.Array:
    raise AssertionError("the column was made again")


def test_a_column_is_made_once() -> None:
    cache, kept = ColumnCache(), block()
    first = cache.get(kept, "x", lambda: kept.values("x"))
    assert cache.get(kept, "x", unexpected) is first
    assert 8 * ROWS <= cache.size_bytes < 9 * ROWS


def test_forms_and_blocks_are_told_apart() -> None:
    cache, one, other = ColumnCache(), block(), block()
    arrays = [
        cache.get(one, ("x", ""), lambda: pa.array([1])),
        cache.get(one, ("x", "BIGINT"), lambda: pa.array([2])),
        cache.get(other, ("x", ""), lambda: pa.array([3])),
    ]
    assert [array[0].as_py() for array in arrays] == [1, 2, 3]


def test_what_lies_in_the_block_is_not_counted() -> None:
    cache, kept = ColumnCache(), block("plain")
    cache.get(kept, "x", lambda: kept.values("x"))
    assert len(cache) == 1
    assert cache.size_bytes < ROWS


def test_the_least_recently_used_goes_first() -> None:
    cache, kept = ColumnCache(20_000), block()
    for key in "ab":
        cache.get(kept, key, lambda: kept.values("x"))
    cache.get(kept, "a", unexpected)
    cache.get(kept, "c", lambda: kept.values("x"))
    assert cache.size_bytes <= 20_000
    cache.get(kept, "a", unexpected)
    with pytest.raises(AssertionError, match="made again"):
        cache.get(kept, "b", unexpected)


def test_what_does_not_fit_is_not_kept() -> None:
    cache, kept = ColumnCache(1000), block()
    assert len(cache.get(kept, "x", lambda: kept.values("x"))) == ROWS
    assert (len(cache), cache.size_bytes) == (0, 0)


def test_lowering_the_limit_frees() -> None:
    cache, kept = ColumnCache(), block()
    cache.get(kept, "x", lambda: kept.values("x"))
    cache.limit = 0
    assert (len(cache), cache.size_bytes) == (0, 0)


def test_columns_end_with_their_block() -> None:
    cache, kept, other = ColumnCache(), block(), block()
    for one in (kept, other):
        cache.get(one, "x", lambda one=one: one.values("x"))
    before = pa.total_allocated_bytes(), cache.size_bytes
    del kept, one
    gc.collect()
    assert (len(cache), cache.size_bytes) == (1, before[1] // 2)
    cache.get(other, "x", unexpected)

"""Distinct values over blocks: sketches of single blocks are merged, whether or not they have values in common."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from sharkpy.columnar.block import Block, encode_block
from sharkpy.columnar.statistics_table import StatisticsTable
from sharkpy.values.types import Field, Schema, from_arrow

ROWS, BLOCKS = 20_000, 5


def table_of(blocks: list[pa.Array]) -> StatisticsTable:
    schema = Schema((Field("x", from_arrow(blocks[0].type)),))
    stored = [encode_block(pa.table({"x": block}), schema).content for block in blocks]
    return StatisticsTable.of(schema, [Block.from_buffer(content).statistics for content in stored])


def make(numbers: np.ndarray, kind: str) -> pa.Array:
    match kind:
        case "string":
            return pa.array([f"a name {number}" for number in numbers])
        case "decimal":
            return pa.array([Decimal(int(number)) / 4 for number in numbers], pa.decimal128(12, 2))
        case "date32":
            return pa.array(numbers.astype(np.int32)).cast(pa.date32())
        case "sparse":
            return pa.array(numbers * 1_000_003)
    return pa.array(numbers).cast(kind)


KINDS = ("int16", "int32", "int64", "sparse", "decimal", "float64", "date32", "string")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("distinct", [100, 3000])
def test_values_that_all_blocks_have_count_once(kind: str, distinct: int) -> None:
    rng = np.random.default_rng(7)
    table = table_of([make(rng.integers(0, distinct, ROWS), kind) for _ in range(BLOCKS)])
    assert math.isclose(table.num_distinct("x"), distinct, rel_tol=0.15)


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_one_block_each_are_added(kind: str) -> None:
    rng = np.random.default_rng(7)
    table = table_of([make(rng.integers(0, 3000, ROWS) + 4000 * block, kind) for block in range(BLOCKS)])
    assert math.isclose(table.num_distinct("x"), 3000 * BLOCKS, rel_tol=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_with_few_values_join_those_with_many(kind: str) -> None:
    few = [np.repeat(np.arange(20 * block, 20 * block + 20), 50) for block in range(50)]
    many = np.random.default_rng(7).integers(0, 1500, ROWS)
    table = table_of([make(numbers, kind) for numbers in (*few, many)])
    assert math.isclose(table.num_distinct("x"), 1500, rel_tol=0.15)


def test_appending_and_leaving_out_blocks() -> None:
    rng = np.random.default_rng(7)
    one = table_of([pa.array(rng.integers(0, 3000, ROWS)) for _ in range(2)])
    other = table_of([pa.array(rng.integers(2000, 6000, ROWS))])
    both = StatisticsTable.concat([one, other])
    assert math.isclose(both.num_distinct("x"), 6000, rel_tol=0.15)
    assert both.take(np.arange(0)).num_distinct("x") == 0
    assert both.take(np.array([0])).num_distinct("x") >= 2900


def test_half_overlapping_unique_keys() -> None:
    blocks = [pa.array(np.arange(ROWS) + block * ROWS // 2) for block in range(BLOCKS)]
    assert math.isclose(table_of(blocks).num_distinct("x"), ROWS * (BLOCKS + 1) / 2, rel_tol=0.15)

"""Rows that may be the first ones of their groups: the same as by sorting each group."""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa
import pytest

from sharkpy.columnar.block import Block, encode_block
from sharkpy.execution.tasks import machine_work
from sharkpy.execution.tasks.reduced_inputs import _first_rows
from sharkpy.physical.kernel_code import column_code, real_code
from sharkpy.physical.stage_program import BlockColumns, FirstRows, GroupKey
from sharkpy.values import types as t

SCHEMA = t.Schema((t.Field("k", t.INT), t.Field("n", t.BIGINT), t.Field("x", t.DOUBLE), t.Field("at", t.TIMESTAMP)))
SPEC = BlockColumns("in0", SCHEMA.names, SCHEMA.names, SCHEMA, ("INTEGER", "BIGINT", "", ""))
REALS = (math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -1.5, 5e-324, -5e-324, 1e300, -1e300)
LIMIT = (1 << 63) - 1
CODES = {"n": column_code("n"), "x": real_code("x"), "at": column_code("at")}
GROUPS = (GroupKey("g", column_code("k"), -3, 9, "INTEGER"),)
Row = dict[str, Any]


def rows_of(seed: int, count: int) -> list[Row]:
    chance = random.Random(seed)
    return [
        {
            "k": chance.choice((None, *range(-3, 9))),
            "n": chance.choice((None, -LIMIT, LIMIT, *range(-50, 50))),
            "x": chance.choice((None, *REALS, chance.uniform(-9, 9))),
            "at": chance.choice((None, *range(-40, 40))),
        }
        for _ in range(count)
    ]


def blocks_of(rows: list[Row]) -> list[Block]:
    tables = [pa.Table.from_pylist(rows[start : start + 900], pa.schema(ARROW)) for start in range(0, len(rows), 900)]
    return [Block.from_buffer(encode_block(table, SCHEMA).content) for table in tables]


ARROW = [("k", pa.int32()), ("n", pa.int64()), ("x", pa.float64()), ("at", pa.timestamp("us"))]


def place_of(row: Row, first: FirstRows) -> tuple[int, float, float]:
    """Return the place of a row in the order. NaN is above the greatest number. NULL may be equal to the limit of n."""
    number = row[first.order.name]
    if number is None and first.order.name == "n":
        number = -LIMIT if first.nulls_first == first.ascending else LIMIT
    if number is None:
        return (-1 if first.nulls_first else 1), 0, 0
    is_nan, sign = number != number, 1 if first.ascending else -1
    return 0, sign * is_nan, 0 if is_nan else sign * number


def expected(rows: list[Row], needed: list[int], first: FirstRows) -> list[int]:
    groups: dict[Any, list[int]] = {}
    for place in needed:
        groups.setdefault(rows[place]["k"] if first.groups else None, []).append(place)
    found = []
    for places in groups.values():
        ordered = sorted(place_of(rows[place], first) for place in places)
        bound = ordered[min(first.count, len(ordered)) - 1]
        found += [place for place in places if place_of(rows[place], first) <= bound]
    return sorted(found)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("column", CODES)
@pytest.mark.parametrize("count", [1, 2, 7, 400])
@pytest.mark.parametrize("groups", [(), GROUPS])
def test_first_rows(
    threads: int, column: str, count: int, groups: tuple[GroupKey, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_work, "_FEW_ROWS", 100)
    rows = rows_of(count, 3500)
    blocks = blocks_of(rows)
    chosen = [place for place in range(len(rows)) if place % 3 or 900 <= place < 1800]
    for ascending in (True, False):
        for nulls_first in (True, False):
            first = FirstRows(CODES[column], count, ascending, nulls_first, groups)
            for needed in (list(range(len(rows))), chosen):
                parts: list[Any] = [
                    pa.array([place - start for place in needed if start <= place < start + 900], pa.uint32())
                    for start in range(0, len(rows), 900)
                ]
                if len(needed) == len(rows):
                    parts = [None] * len(blocks)
                found = _first_rows(SPEC, first, blocks, parts, threads)
                places = [900 * number + one for number, part in enumerate(found) for one in part.to_pylist()]
                assert places == expected(rows, needed, first)


def test_no_blocks_and_no_rows() -> None:
    first = FirstRows(CODES["n"], 3, True, True, GROUPS)
    assert _first_rows(SPEC, first, [], [], 1) == []
    (found,) = _first_rows(SPEC, first, blocks_of(rows_of(1, 20)), [pa.array([], pa.uint32())], 1)
    assert found is not None
    assert len(found) == 0

"""Statistics of a table that grows block by block equal the statistics of all blocks at once, joined on request."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sharkpy.columnar import statistics_table
from sharkpy.columnar.block import encode_block
from sharkpy.columnar.statistics_table import PackedStatistics, StatisticsTable
from sharkpy.columnar.value_sets import DistinctSets, sets_by_block
from sharkpy.values import types as t

SCHEMA = t.Schema((t.Field("k", t.BIGINT), t.Field("s", t.STRING), t.Field("d", t.DOUBLE)))
BLOCKS = 40


def block(number: int) -> PackedStatistics:
    """Statistics of a block of few distinct values or of many, with NULLs and NaN in some."""
    rows = 200 if number % 5 == 0 else 1 + number % 7
    values = [None if number % 3 == 1 and row % 4 == 0 else number * 10 + row for row in range(rows)]
    texts = [None if value is None else f"v{value % 50}" for value in values]
    floats = [float("nan") if number % 6 == 2 else value for value in values]
    columns = {"k": pa.array(values, pa.int64()), "s": texts, "d": pa.array(floats, pa.float64())}
    return encode_block(pa.table(columns), SCHEMA).statistics


@pytest.fixture(scope="module")
def blocks() -> list[PackedStatistics]:
    return [block(number) for number in range(BLOCKS)]


def plain(value: Any) -> Any:
    """A column's statistics as lists, which compare."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, DistinctSets):
        return sets_by_block(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [plain(getattr(value, field.name)) for field in dataclasses.fields(value)]
    return value


@pytest.mark.parametrize("asked", [(), ("k",), ("k", "s", "d")], ids=lambda names: "-".join(names) or "none")
def test_blocks_that_came_one_by_one(blocks: list[PackedStatistics], asked: tuple[str, ...]) -> None:
    grown = StatisticsTable.of(SCHEMA, blocks[:1])
    for number, one in enumerate(blocks[1:], 2):
        grown = grown.append([one])
        whole = StatisticsTable.of(SCHEMA, blocks[:number])
        assert grown.rows.tolist() == whole.rows.tolist()
        assert grown.rows.dtype == whole.rows.dtype
        for name in asked:
            assert plain(grown.columns[name]) == plain(whole.columns[name])
    assert {name: plain(column) for name, column in grown.columns.items()} == {
        name: plain(column) for name, column in whole.columns.items()
    }
    for name in SCHEMA.names:
        assert grown.num_distinct(name) == whole.num_distinct(name)
        assert (grown.minimum(name), grown.maximum(name)) == (whole.minimum(name), whole.maximum(name))
    positions = np.array([BLOCKS - 1, 3, 0])
    assert plain(grown.take(positions).columns["s"]) == plain(whole.take(positions).columns["s"])


@pytest.mark.parametrize("size", [0, 3, 30])
def test_blocks_that_came_together(blocks: list[PackedStatistics], size: int) -> None:
    grown = StatisticsTable.of(SCHEMA, blocks[:5]).append(blocks[5:7]).append(blocks[7 : 7 + size])
    whole = StatisticsTable.of(SCHEMA, blocks[: 7 + size])
    assert len(grown) == 7 + size
    assert {name: plain(grown.columns[name]) for name in grown.columns} == {
        name: plain(whole.columns[name]) for name in whole.columns
    }


def test_a_column_that_nobody_asks_for_is_not_joined(
    blocks: list[PackedStatistics], monkeypatch: pytest.MonkeyPatch
) -> None:
    joined: list[str] = []
    join = statistics_table.concat_columns

    def noted(columns: Any) -> Any:
        joined.append(str(columns[0].dtype))
        return join(columns)

    monkeypatch.setattr(statistics_table, "concat_columns", noted)
    grown = StatisticsTable.of(SCHEMA, blocks[:1])
    for one in blocks[1:11]:
        grown = grown.append([one])
        assert grown.count_valid("k") == grown.count_valid("k")
        assert "s" in grown.columns
        assert "x" not in grown.columns
    assert joined == ["bigint"] * 9
    for one in blocks[11:]:
        grown = grown.append([one])
    assert "string" not in joined
    assert "double" not in joined


def test_an_extreme_is_computed_once(blocks: list[PackedStatistics], monkeypatch: pytest.MonkeyPatch) -> None:
    table = StatisticsTable.of(SCHEMA, blocks[:2])
    low, high = table.minimum("k"), table.maximum("k")
    assert low is not None
    assert high is not None
    assert low.value != high.value
    monkeypatch.setattr(statistics_table, "_extreme_of", lambda *_: pytest.fail("computed again"))
    assert (table.minimum("k"), table.maximum("k")) == (low, high)


def test_blocks_without_common_values_are_counted_without_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first loop of a process takes longer to load than many queries."""
    schema = t.Schema((t.Field("k", t.BIGINT),))
    rows = 100_000
    parts = [encode_block(pa.table({"k": np.arange(rows) * 7919 % 200_003 + place}), schema) for place in (0, 50)]
    table = StatisticsTable.of(schema, [part.statistics for part in parts])
    monkeypatch.setattr(statistics_table, "registers_of_values", None)
    assert rows <= table.num_distinct("k") <= 2 * rows

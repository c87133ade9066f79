"""Small splits that share blocks: which are put together, and that tables of many files are as they were."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sharkpy
from sharkpy.base.settings import Conf
from sharkpy.catalog.model import StorageFormat
from sharkpy.execution.tables import block_loading
from sharkpy.execution.tables.block_loading import loading_splits, split_groups
from sharkpy.sources.layout import DataFile
from sharkpy.sources.source import Split
from sharkpy.values.types import Schema

FILES = 100


def split(number: int, rows: int | None = 2, size: int = 500, partition: str = "") -> Split:
    return Split(f"f{number}", "parquet", (), 0, 1, size, 1, rows, partition)


def sizes(splits: list[Split], block_rows: int = 1_000_000) -> list[int]:
    groups = list(split_groups(splits, block_rows))
    assert [one for group in groups for one in group] == splits
    return [len(group) for group in groups]


def test_few_splits_stay_alone() -> None:
    assert sizes([split(number) for number in range(63)]) == [1] * 63
    assert sizes([]) == []


def test_many_small_ones_are_put_together() -> None:
    assert sizes([split(number) for number in range(64)]) == [64]
    assert sizes([split(number) for number in range(100)], block_rows=80) == [40, 40, 20]
    assert sizes([split(number, rows=100_000) for number in range(64)]) == [1] * 64
    assert sizes([split(number, size=1 << 20) for number in range(64)]) == [4] * 16
    assert sizes([split(number, None, size=50_000) for number in range(64)]) == [2] * 32


def test_partitions_stay_apart() -> None:
    assert sizes([split(number, partition=f"p={number // 40}") for number in range(100)]) == [40, 40, 20]


@pytest.mark.parametrize(
    ("groups", "rows", "lengths"),
    [
        (1, 3_000_000, [1]),
        (16, 50_000, [8, 8]),
        (12, 500_000, [2] * 6),
        (53, 114_000, [7, 6, 7, 6, 7, 7, 6, 7]),
        (9, 500_000, [1, 2, 1, 2, 1, 2]),
        (100, 1, [100]),
    ],
)
def test_threads_load_equal_numbers_of_row_groups(
    groups: int, rows: int, lengths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    members = [Split("f", "parquet", (), number, 1, 500, 1, rows) for number in range(groups)]
    monkeypatch.setattr(block_loading, "_row_groups", lambda *_: members)
    schema, storage = Schema(()), StorageFormat("parquet")
    splits = loading_splits([DataFile("f", 500, 1)], schema, storage, Conf(), str, num_threads=2)
    assert [one.length for one in splits] == lengths
    assert [one.start for one in splits] == [sum(lengths[:place]) for place in range(len(lengths))]
    assert [one.num_rows for one in splits] == [rows * length for length in lengths]


def test_loops_are_loaded_while_splits_are_read(context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()
    monkeypatch.setattr(block_loading, "load_kernels", begun.set)
    assert context.sql("SELECT sum(k) FROM t").fetchall() == [(14850,)]
    assert begun.is_set()


@pytest.fixture
def context(context: sharkpy.SharkContext, tmp_path: Path) -> sharkpy.SharkContext:
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(FILES):
        text = "some" if number % 2 else f"text {number}"
        pq.write_table(pa.table({"k": [number] * 3, "s": [text, None, "x"]}), folder / f"{number:03}.parquet")
    pq.write_table(pa.table({"k": pa.array([], pa.int64()), "s": pa.array([], pa.string())}), folder / "050b.parquet")
    context.sql(
        f"CREATE EXTERNAL TABLE t (k BIGINT, s STRING) STORED AS PARQUET LOCATION '{folder}' "
        "TBLPROPERTIES ('shark.cache' = 'MEMORY')"
    )
    return context


def test_a_table_of_many_files_has_one_block(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    def answer() -> list[tuple[object, ...]]:
        return context.sql("SELECT count(*), sum(k), count(DISTINCT s), min(s), count(s) FROM t").fetchall()

    assert answer() == [(300, 14850, 52, "some", 200)]
    assert "1 of 1 blocks" in "\n".join(line for (line,) in context.sql("EXPLAIN SELECT k, s FROM t").fetchall())
    changed = tmp_path / "files" / "007.parquet"
    pq.write_table(pa.table({"k": [1000], "s": ["new"]}), changed)
    assert answer() == [(298, 15829, 53, "new", 199)]
    (tmp_path / "files" / "008.parquet").unlink()
    assert answer() == [(295, 15805, 52, "new", 197)]
    context.sql("INSERT INTO t VALUES (5, 'added')")
    assert answer() == [(296, 15810, 53, "added", 198)]

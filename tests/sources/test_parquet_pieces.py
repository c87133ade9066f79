"""Parquet files are read for encoding some columns at a time, and no piece is held when the next one is read."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sharkpy
from sharkpy.columnar.block import encode_blocks
from sharkpy.sources import parquet
from sharkpy.sources.layout import list_data_files
from sharkpy.sources.parquet import ParquetSource
from sharkpy.sources.source import ReadMetrics, Split
from sharkpy.sources.split_rows import read_split_coded, read_split_columns
from sharkpy.values.types import BIGINT, STRING, Field, Schema
from tests.rows import rows

ROWS = 1000
SCHEMA = Schema((*(Field(f"c{place}", BIGINT) for place in range(5)), Field("s", STRING), Field("missing", BIGINT)))


@pytest.fixture
def split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Split:
    monkeypatch.setattr(parquet, "_PIECE_VALUES", 2 * ROWS)
    columns: dict[str, object] = {f"c{place}": range(place, place + ROWS) for place in range(5)}
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table(columns | {"s": ["a", "b"] * (ROWS // 2)}), path, row_group_size=ROWS // 4)
    (split,) = ParquetSource().splits(list_data_files(str(tmp_path)), SCHEMA, (), 1 << 30)
    return split


def test_pieces_have_some_columns_and_all_rows(split: Split) -> None:
    metrics = ReadMetrics()
    pieces = list(ParquetSource().read_coded(split, SCHEMA, metrics))
    assert [piece.column_names for piece in pieces] == [["c0", "c1"], ["c2", "c3"], ["c4", "s"], ["missing"]]
    assert {piece.num_rows for piece in pieces} == {ROWS}
    assert pa.types.is_dictionary(pieces[2].column("s").type)
    assert metrics.rows == ROWS
    (whole,) = read_split_coded(split, SCHEMA, ReadMetrics())
    assert whole.column_names == list(SCHEMA.names)
    assert whole.slice(7, 1).to_pylist() == [{"c0": 7, "c1": 8, "c2": 9, "c3": 10, "c4": 11, "s": "b", "missing": None}]


@pytest.mark.parametrize(("distinct", "is_coded"), [(200, True), (600, False)])
def test_texts_are_read_as_dictionaries_if_they_take_less_than_their_lengths(
    tmp_path: Path, distinct: int, is_coded: bool
) -> None:
    texts = [f"name {index % distinct:03}" for index in range(ROWS)]
    pq.write_table(pa.table({"s": texts}), tmp_path / "f.parquet")
    column = pq.read_metadata(tmp_path / "f.parquet").row_group(0).column(0)
    assert (3 * ROWS < column.total_uncompressed_size < 4 * ROWS) == is_coded
    schema = Schema((Field("s", STRING),))
    (split,) = ParquetSource().splits(list_data_files(str(tmp_path)), schema, (), 1 << 30)
    (piece,) = ParquetSource().read_coded(split, schema, ReadMetrics())
    assert pa.types.is_dictionary(piece.column("s").type) == is_coded
    assert piece.column("s").cast(pa.string()).to_pylist() == texts


def test_no_piece_is_held_when_the_next_one_is_read(split: Split) -> None:
    given: list[weakref.ref[pa.Table]] = []

    def watched(pieces: Iterator[pa.Table]) -> Iterator[pa.Table]:
        while (piece := next(pieces, None)) is not None:
            assert [ref() for ref in given] == [None] * len(given)
            given.append(weakref.ref(piece))
            yield piece
            del piece

    columns = read_split_columns(split, SCHEMA, ReadMetrics())
    assert columns is not None
    (block,) = encode_blocks(watched(columns), SCHEMA, ROWS)
    assert (block.num_rows, len(given)) == (ROWS, 4)


def test_partitions_have_their_constants(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    for place in range(2):
        folder = tmp_path / "p" / f"p=x{place}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"k": [place, place + 10]}), folder / "f.parquet")
    context.sql(
        "CREATE EXTERNAL TABLE p (k BIGINT) PARTITIONED BY (p STRING) STORED AS PARQUET "
        f"LOCATION '{tmp_path / 'p'}' TBLPROPERTIES ('shark.cache' = 'MEMORY')"
    )
    context.sql("MSCK REPAIR TABLE p")
    assert rows(context, "SELECT p, k FROM p ORDER BY k") == [("x0", 0), ("x1", 1), ("x0", 10), ("x1", 11)]

"""Zeros of both signs and NaN in the rows that joins of streams keep: they stay what they are."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sharkpy
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW

NAN = float("nan")
COLUMNS = "k BIGINT, x DOUBLE, y FLOAT, xs ARRAY<DOUBLE>, s STRUCT<f: DOUBLE>, ts TIMESTAMP"
SHOWN = "l.k, l.x, l.y, l.xs, l.s"
JOINS = {
    "left": f"SELECT {SHOWN}, r.x AS other FROM l LEFT JOIN r ON l.k = r.k",
    "full": "SELECT l.k, l.x, r.k AS rk, r.x AS rx, r.xs FROM l FULL JOIN r ON l.k = r.k",
    "semi": f"SELECT {SHOWN} FROM l LEFT SEMI JOIN r ON l.k = r.k",
    "anti": f"SELECT {SHOWN} FROM l LEFT ANTI JOIN r ON l.x = r.x",
}


def put(folder: Path, name: str, values: list[tuple[int, float]]) -> None:
    """Rows of a key and a real, which is in all columns of reals."""
    keys, reals = [key for key, _ in values], [real for _, real in values]
    columns = {
        "k": pa.array(keys, pa.int64()),
        "x": pa.array(reals, pa.float64()),
        "y": pa.array(reals, pa.float32()),
        "xs": pa.array([[real] for real in reals], pa.list_(pa.float64())),
        "s": pa.array([{"f": real} for real in reals], pa.struct([("f", pa.float64())])),
        "ts": pa.array([datetime(2026, 5, 1) + timedelta(seconds=key) for key in keys], pa.timestamp("us")),
    }
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / f".{name}")
    (folder / f".{name}").rename(folder / name)


def make(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    for name in ("l", "r"):
        (tmp_path / name).mkdir()
        mark = "WATERMARK FOR ts AS ts"
        context.sql(f"CREATE STREAM {name} ({COLUMNS}, {mark}) STORED AS PARQUET FROM FOLDER '{tmp_path / name}'")
        context.sql(f"CREATE EXTERNAL TABLE t{name} ({COLUMNS}) STORED AS PARQUET LOCATION '{tmp_path / name}'")


def texts(context: sharkpy.SharkContext, text: str) -> list[str]:
    """Rows as texts, which tell zeros apart and NaN alike."""
    return sorted(map(repr, rows(context, text)))


def of_tables(text: str) -> str:
    return re.sub(r"\b(FROM|JOIN) (l|r)\b", r"\1 t\2 AS \2", text)


@pytest.mark.variants(2)
@pytest.mark.parametrize("clauses", [MEMORY, ""], ids=["memory", "files"])
def test_rows_of_joins(context: sharkpy.SharkContext, tmp_path: Path, clauses: str) -> None:
    make(context, tmp_path)
    for name, text in JOINS.items():
        context.sql(f"CREATE CONTINUOUS TABLE {name}_rows {clauses} {NOW} WITH UNBOUNDED STATE AS {text}")
    epochs = [
        ([(0, -0.0), (1, 0.0), (2, NAN), (3, 1.0), (4, -0.0), (4, 0.0)], [(1, 0.0), (3, 5.0), (9, -0.0)]),
        ([(9, 0.0), (9, -0.0), (20, -0.0), (21, NAN)], [(20, -0.0), (0, NAN)]),
    ]
    for number, sides in enumerate(epochs):
        for name, values in zip(("l", "r"), sides, strict=True):
            put(tmp_path / name, str(number), values)
        for name, text in JOINS.items():
            context.sql(f"RESUME CONTINUOUS TABLE {name}_rows")
            assert texts(context, f"SELECT * FROM {name}_rows") == texts(context, of_tables(text))


def test_rows_that_are_given(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    make(context, tmp_path)
    context.sql("CREATE TABLE given (k BIGINT, x DOUBLE, y FLOAT, other DOUBLE)")
    near = "l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 1 SECOND"
    text = f"SELECT l.k, l.x, l.y, r.x AS other FROM l LEFT JOIN r ON {near}"
    context.sql(f"CREATE CONTINUOUS INSERT i {NOW} AS INSERT INTO given {text}")
    put(tmp_path / "l", "1", [(0, -0.0), (0, 0.0), (0, -0.0), (1, -0.0), (2, NAN)])
    put(tmp_path / "r", "1", [(1, -0.0)])
    context.sql("RESUME CONTINUOUS INSERT i")
    put(tmp_path / "r", "2", [(30, 0.0)])
    put(tmp_path / "l", "2", [(30, 1.0)])
    context.sql("RESUME CONTINUOUS INSERT i")
    zeros = ["(0, -0.0, -0.0, None)"] * 2 + ["(0, 0.0, 0.0, None)"]
    assert texts(context, "SELECT * FROM given WHERE k < 30") == [
        *zeros,
        "(1, -0.0, -0.0, -0.0)",
        "(2, nan, nan, None)",
    ]

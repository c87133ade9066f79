"""NULLs next to a single value of a Parquet column stay NULLs, whichever program and encoding wrote the file."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sharkpy

_VALUES: dict[str, tuple[pa.DataType, object]] = {
    "STRING": (pa.string(), "a"),
    "BINARY": (pa.binary(), b"a"),
    "DECIMAL(12,3)": (pa.decimal128(12, 3), Decimal("1.500")),
    "DATE": (pa.date32(), datetime.date(2020, 1, 1)),
    "TIMESTAMP": (pa.timestamp("us"), datetime.datetime(2020, 1, 1)),
    "BOOLEAN": (pa.bool_(), True),
    "DOUBLE": (pa.float64(), 1.5),
    "INT": (pa.int32(), 1),
    "BIGINT": (pa.int64(), 1),
}
_FORMS: dict[str, dict[str, Any]] = {
    "dictionary": {},
    "plain": {"use_dictionary": False},
    "groups": {"use_dictionary": False, "row_group_size": 3},
}


def _check(context: sharkpy.SharkContext, table: str, values: list[object]) -> None:
    nulls = [(n,) for n, value in enumerate(values) if value is None]
    assert sorted(context.sql(f"SELECT n FROM {table} WHERE v IS NULL").fetchall()) == nulls
    others = [(n,) for n, value in enumerate(values) if value is not None]
    assert sorted(context.sql(f"SELECT n FROM {table} WHERE v IS NOT NULL").fetchall()) == others
    assert context.sql(f"SELECT count(v), count(*) FROM {table}").fetchall() == [(len(others), len(values))]


@pytest.mark.parametrize("dtype", _VALUES)
@pytest.mark.parametrize("form", _FORMS)
def test_files_of_others(context: sharkpy.SharkContext, dtype: str, form: str, tmp_path: Path) -> None:
    arrow_type, value = _VALUES[dtype]
    values = [value, None, value, None, None, value, None, None, None]
    rows = pa.table({"n": pa.array(range(len(values)), pa.int64()), "v": pa.array(values, arrow_type)})
    pq.write_table(rows, tmp_path / "a.parquet", **_FORMS[form])
    context.sql("DROP TABLE IF EXISTS t").close()
    context.sql(f"CREATE EXTERNAL TABLE t (n BIGINT, v {dtype}) STORED AS PARQUET LOCATION '{tmp_path}'").close()
    _check(context, "t", values)


@pytest.mark.parametrize("number", [2, 3, 5000])
def test_files_of_our_own(context: sharkpy.SharkContext, number: int) -> None:
    context.sql("DROP TABLE IF EXISTS own").close()
    numbers = f"(SELECT explode(sequence(0, {number - 1})) AS n) s"
    context.sql(f"CREATE TABLE own STORED AS PARQUET AS SELECT n, IF(n = 0, 'a', NULL) AS v FROM {numbers}").close()
    _check(context, "own", ["a", *[None] * (number - 1)])

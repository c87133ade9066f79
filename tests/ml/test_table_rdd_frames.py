"""TableRDD as a DataFrame, and its rows for libraries that look for names."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pytest

import sharkpy
from sharkpy.base.errors import ColumnNotFoundError
from sharkpy.ml.rdd.rows import row_class
from sharkpy.values.types import BIGINT, STRING, Field, Schema

VALUES: dict[str, tuple[str, Any]] = {
    "true": ("boolean", True),
    "1Y": ("tinyint", 1),
    "2S": ("smallint", 2),
    "3": ("int", 3),
    "4L": ("bigint", 4),
    "CAST(0.5 AS FLOAT)": ("float", 0.5),
    "CAST(0.1 AS DOUBLE)": ("double", 0.1),
    "1.50BD": ("decimal(3,2)", Decimal("1.50")),
    "'text'": ("string", "text"),
    "CAST('ab' AS BINARY)": ("binary", bytearray(b"ab")),
    "DATE '2024-02-29'": ("date", datetime.date(2024, 2, 29)),
    "TIMESTAMP '2024-02-29 01:02:03.004'": ("timestamp_ntz", datetime.datetime(2024, 2, 29, 1, 2, 3, 4000)),
    "array(1, NULL)": ("array<int>", [1, None]),
    "map('a', 1)": ("map<string,int>", {"a": 1}),
    "named_struct('x', 1)": ("struct<x:int>", (1,)),
}


@pytest.fixture(scope="module")
def ctx(tasks: sharkpy.SharkContext) -> Iterator[sharkpy.SharkContext]:
    tasks.sql("CREATE DATABASE frames; USE frames")
    tasks.sql("CREATE TABLE t TBLPROPERTIES ('shark.cache'='MEMORY_ONLY') AS SELECT explode(sequence(1, 3000)) AS n")
    yield tasks
    tasks.sql("USE default; DROP DATABASE frames CASCADE")


@pytest.mark.slow
@pytest.mark.spark
def test_to_df_has_the_names_types_and_values_of_the_columns(ctx: sharkpy.SharkContext) -> None:
    columns = ", ".join(f"{text} AS c{place}" for place, text in enumerate(VALUES))
    frame = ctx.sql2rdd(f"SELECT {columns} FROM t WHERE n = 1").toDF()
    assert [field.dataType.simpleString() for field in frame.schema] == [dtype for dtype, _ in VALUES.values()]
    assert frame.columns == [f"c{place}" for place in range(len(VALUES))]
    assert tuple(frame.collect()[0]) == tuple(value for _, value in VALUES.values())


@pytest.mark.spark
def test_a_frame_of_a_query_with_map_stages_can_be_read_after_its_rdd(ctx: sharkpy.SharkContext) -> None:
    frame = ctx.sql2rdd("SELECT n % 7 AS k, count(*) AS n FROM t GROUP BY n % 7").toDF(["key", "number"])
    assert frame.where("key < 2").orderBy("key").collect() == [(0, 428), (1, 429)]
    assert frame.agg({"number": "sum"}).collect() == [(3000,)]


@pytest.mark.spark
def test_to_df_of_what_functions_made(ctx: sharkpy.SharkContext) -> None:
    rows = ctx.sql2rdd("SELECT n, n % 2 = 0 AS even FROM t")
    assert rows.filter(lambda row: row.even).toDF().schema.simpleString() == "struct<n:bigint,even:boolean>"
    assert rows.map(lambda row: (row.n, str(row.even))).toDF(["a", "b"]).count() == 3000
    assert rows.map_rows(lambda row: row.n).toDF("bigint").collect()[0] == (1,)


@pytest.mark.spark
def test_rows_keep_their_names_through_functions_back_to_a_table(ctx: sharkpy.SharkContext) -> None:
    rows = ctx.sql2rdd("SELECT n, n % 2 = 0 AS even FROM t")
    assert ctx.save_as_table(rows.filter(lambda row: row.even), "even_rows") == 1500
    assert ctx.sql("SELECT * FROM even_rows").schema.names == ("n", "even")


def test_pandas_and_polars_find_the_names_of_rows() -> None:
    rows = [row_class(Schema((Field("id", BIGINT), Field("count", STRING))))(pair) for pair in [(1, "a"), (2, None)]]
    assert pd.DataFrame(rows).columns.tolist() == ["id", "count"]
    assert pl.DataFrame(rows).columns == ["id", "count"]
    assert rows[0]._replace(id=5) == (5, "a")
    assert type(rows[0]._replace(id=5)) is type(rows[0])
    with pytest.raises(ColumnNotFoundError, match='no column "x"'):
        rows[0]._replace(x=1)


def test_functions_of_tasks_import_no_sql() -> None:
    """A worker imports the modules of its functions: the whole engine would cost each of them half a second."""
    program = (
        "import sys, sharkpy.ml.rdd.checked_batches, sharkpy.ml.rdd.key_hash, sharkpy.ml.rdd.partition_functions, "
        "sharkpy.ml.rdd.rows; print([name for name in sys.modules if name.startswith("
        "('sharkpy.sql', 'sharkpy.session', 'sharkpy.execution.queries', 'sharkpy.execution.commands', 'sqlglot'))])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"

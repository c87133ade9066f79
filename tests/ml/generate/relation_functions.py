"""Functions of whole tables that tests call by GENERATE; only type checkers know the class TableRDD."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import sharkpy
from sharkpy.ml import LinearRegression

if TYPE_CHECKING:
    from pyspark import RDD

    from sharkpy.ml import TableRDD


@sharkpy.table_function
def same(points: TableRDD) -> TableRDD:
    """Return the table unchanged."""
    return points


@sharkpy.table_function
def shifted(points: TableRDD, by: float = 1.0) -> object:
    """Return x and x moved by `by`, computed by tasks."""
    return points.map(lambda row: {"x": row.x, "moved": row.x + by})


@sharkpy.table_function("table", "int", returns={"rows": "bigint", "n": "int"})
def several(points, n):  # type: ignore[no-untyped-def]
    """Take a table, declared by its type."""
    return [(points.count(), n)]


@sharkpy.table_function(returns={"name": "string", "value": "string"})
def described(points: TableRDD, *more: object, **named: object) -> Iterator[tuple[str, str]]:
    """List each argument and its type."""
    yield "points", type(points).__name__
    for value in more:
        yield "more", f"{type(value).__name__} {value}"
    for name, value in named.items():
        yield name, f"{type(value).__name__} {value}"


@sharkpy.table_function(returns="struct<text:string>")
def typed(
    number: int,
    share: float,
    name: str,
    flag: bool,
    exact: Decimal,
    day: datetime.date,
    names: list[str],
    table: TableRDD | None = None,
) -> list[str]:
    """List values as the annotations convert them."""
    return [repr((number, share, name, flag, exact, day, names, table is None))]


ROWS = {
    "tuples": [(1, "a"), (2, None)],
    "dicts": [{"n": 1, "s": "a"}, {"n": 2}],
    "numpy": np.array([[1.0, 2.0], [3.0, 4.0]]),
    "arrow": pa.table({"n": [1, 2], "s": ["a", None]}),
    "pandas": pd.DataFrame({"n": [1, 2], "s": ["a", None]}),
    "polars": pl.DataFrame({"n": [1, 2], "s": ["a", None]}),
}


@sharkpy.table_function
def given(points: TableRDD, kind: str) -> object:
    """Return rows of this process."""
    return ROWS[kind]


@sharkpy.table_function
def fitted_line(points: TableRDD) -> LinearRegression:
    """Return a fitted model as result."""
    return LinearRegression().fit(points, "y", features=["x"])


@sharkpy.table_function
def failing(points: TableRDD) -> object:
    """Raise when called."""
    return _deeper(points)


def _deeper(points: object) -> object:
    raise ValueError(f"no {type(points).__name__} today\nnor tomorrow")


@sharkpy.table_function
def failing_in_sql(points: TableRDD) -> object:
    """Read a table that does not exist."""
    return points.session.sql2rdd("SELECT * FROM nowhere")


@sharkpy.table_function
def with_pyspark_annotation(points: RDD[Any]) -> object:
    """Take a TableRDD as the RDD that it is."""
    return points.map(lambda row: row.x + 1)


@sharkpy.table_function
def failing_in_tasks(points: TableRDD) -> object:
    """Raise when the rows are made."""
    return points.map(lambda row: (1 / row.x,))


@sharkpy.table_function
def interrupted(points: TableRDD) -> object:
    """Raise after some good rows."""
    return points.map(lambda row: (row.x, 10 // int(20 - row.x)))


@sharkpy.table_function
def nothing(points: TableRDD) -> None:
    """Return nothing, by mistake."""


@sharkpy.table_function(returns={"a": "double", "b": "double"})
def wrong_columns(points: TableRDD) -> object:
    return points


@sharkpy.table_function(returns={"x": "double", "y": "double", "kind": "int"})
def wrong_types(points: TableRDD) -> object:
    return points


@sharkpy.table_function(returns={"n": "int"})
def wrong_values(points: TableRDD) -> object:
    return [(1,), ("one",)]


@sharkpy.table_function
def no_rows(points: TableRDD) -> object:
    """Return rows without columns."""
    return []


@sharkpy.table_function(returns={"value": "double", "power": "double"})
def powers(value: float, most: int) -> Iterator[tuple[float, float]]:
    """Return rows: a function of rows."""
    for power in range(1, most + 1):
        yield value, value**power

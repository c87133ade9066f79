"""The zoo beside Spark: it reads the files that are written here, and its files are read here."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sharkpy
from tests.zoo.animals import Columns, all_columns, few_columns
from tests.zoo.test_zoo import STORES, Rows, check, columns_of, folder_of, make, rows, source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FORMS = ("parquet", "orc", "json", "csv")
"""Formats that Spark has without Hive's classes."""


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect(warehouse=tmp_path_factory.mktemp("warehouse")) as opened:
        yield opened


def ours_read_by_spark(
    context: sharkpy.SharkContext, spark: SparkSession, store: str, folder: Path, columns: Columns
) -> None:
    written, known = columns_of_both(store, columns)
    name = make(context, store, folder, written)
    # An INSERT has a folder of its own in the table's.
    with spark_table(spark, "ours", store, known, folder_of(context, name), recursiveFileLookup="true"):
        check(spark_rows(spark, "ours"), known, "ours, as Spark reads them")
    context.sql(f"DROP TABLE {name}")


def theirs_read_here(
    context: sharkpy.SharkContext, spark: SparkSession, store: str, folder: Path, columns: Columns
) -> None:
    written, known = columns_of_both(store, columns)
    given = source(folder, written).strip("'")
    with (
        spark_table(spark, "given", "parquet", known, given),
        spark_table(spark, "theirs", store, known, f"{folder}/theirs"),
    ):
        spark.sql("INSERT INTO theirs SELECT * FROM given")
        if store == "csv":
            # Spark writes texts without the blanks at their ends.
            known = as_spark_reads(known, spark_rows(spark, "theirs"))
        check(spark_rows(spark, "theirs"), known, "Spark's, as Spark reads them")
    name = f"theirs_{store}_{len(known)}"
    form = f"{STORES[store]} LOCATION '{folder}/theirs'"
    context.sql(f"CREATE EXTERNAL TABLE {name} (k BIGINT, {_types(known)}) {form}")
    check(rows(context, f"SELECT * FROM {name} ORDER BY k"), known, "Spark's, as they are read here")
    context.sql(f"DROP TABLE {name}")


def columns_of_both(store: str, columns: Columns) -> tuple[Columns, Columns]:
    """Columns that a store has here and in Spark: with the values to write, and with those that come out of it."""
    if store == "orc":
        # Java's ORC has no form for the last second before 1970.
        columns = {
            name: (sql, arrow, [_earlier(one) for one in values]) for name, (sql, arrow, values) in columns.items()
        }
    known = columns_of(store, columns)
    return {name: columns[name] for name in known}, known


def as_spark_reads(columns: Columns, found: Rows) -> Columns:
    return {name: (sql, arrow, [row[name] for row in found]) for name, (sql, arrow, _) in columns.items()}


def spark_rows(spark: SparkSession, name: str) -> Rows:
    return spark.sql(f"SELECT * FROM {name} ORDER BY k").toArrow().to_pylist()


def _earlier(value: Any) -> Any:
    match value:
        case datetime.datetime(year=1969):
            return value.replace(second=58)
        case dict():
            return {name: _earlier(part) for name, part in value.items()}
        case list() | tuple():
            return type(value)(map(_earlier, value))
    return value


@contextmanager
def spark_table(
    spark: SparkSession, name: str, form: str, columns: Columns, folder: str, **options: str
) -> Iterator[None]:
    """Table of Spark over a folder, or a file, with the columns of the zoo and `k`."""
    told = {"multiLine": "true", **options} if form == "csv" else options
    types = _types(columns)
    if form == "json":
        # Its names have the case of the file, ours none.
        types = types.lower()
    clause = f"OPTIONS ({', '.join(f'{key!r} {value!r}' for key, value in told.items())})" if told else ""
    spark.sql(f"CREATE TABLE {name} (k BIGINT, {types}) USING {form} {clause} LOCATION '{folder}'")
    try:
        yield
    finally:
        spark.sql(f"DROP TABLE {name}")


def _types(columns: Columns) -> str:
    return ", ".join(f"{column} {sql}" for column, (sql, _, _) in columns.items())


@pytest.mark.variants(2)
@pytest.mark.parametrize("store", _FORMS)
def test_part_of_ours(context: sharkpy.SharkContext, spark_sql: SparkSession, store: str, tmp_path: Path) -> None:
    ours_read_by_spark(context, spark_sql, store, tmp_path, few_columns())


@pytest.mark.variants(2)
@pytest.mark.parametrize("store", _FORMS)
def test_part_of_theirs(context: sharkpy.SharkContext, spark_sql: SparkSession, store: str, tmp_path: Path) -> None:
    theirs_read_here(context, spark_sql, store, tmp_path, few_columns())


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("store", [store for store in _FORMS if store != "csv"])
def test_all_pairs(context: sharkpy.SharkContext, spark_sql: SparkSession, store: str, tmp_path: Path) -> None:
    for part, walk in (("ours", ours_read_by_spark), ("theirs", theirs_read_here)):
        (tmp_path / part).mkdir()
        walk(context, spark_sql, store, tmp_path / part, all_columns())

"""The zoo and Spark: Spark reads the files that are written here, and its files are read here."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sharkpy
from tests.zoo.animals import Columns, all_columns, few_columns
from tests.zoo.hive_spark import HiveSpark
from tests.zoo.test_zoo import STORES, Rows, check, columns_of, folder_of, make, rows, source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FORMS = ("parquet", "orc", "json", "csv")
"""Formats that Spark has itself. That of Avro is Hive's: its source of Avro is in a jar of its own."""

Run = Callable[[str], pa.Table]
"""Runs a statement on Spark."""


@pytest.fixture
def spark(spark_sql: SparkSession) -> Run:
    return lambda text: spark_sql.sql(text).toArrow()


@pytest.fixture(scope="module")
def hive_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    session = HiveSpark(tmp_path_factory.mktemp("spark"))
    yield session.sql
    session.close()


def ours_read_by_spark(context: sharkpy.SharkContext, spark: Run, store: str, folder: Path, columns: Columns) -> None:
    written, known = columns_of_both(store, columns)
    name = make(context, store, folder, written)
    # The INSERT has a folder of its own in the table's.
    (file,) = (path for path in Path(folder_of(context, name)).rglob("part-*") if path.is_file())
    with spark_table(spark, "ours", store, known, str(file.parent)):
        check(spark_rows(spark, "ours"), known, "ours, as Spark reads them")
    context.sql(f"DROP TABLE {name}")


def theirs_read_here(context: sharkpy.SharkContext, spark: Run, store: str, folder: Path, columns: Columns) -> None:
    written, known = columns_of_both(store, columns)
    given = source(folder, written).strip("'")
    with (
        spark_table(spark, "given", "parquet", known, given),
        spark_table(spark, "theirs", store, known, f"{folder}/theirs"),
    ):
        spark("INSERT INTO theirs SELECT * FROM given")
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
    """Columns that a store has here and in Spark: with the values to write, and with the values that come out of it."""
    if store in _CHANGES:
        columns = {
            name: (sql, arrow, [_changed(one, _CHANGES[store]) for one in values])
            for name, (sql, arrow, values) in columns.items()
        }
    known = columns_of(store, columns)
    return {name: columns[name] for name in known}, known


def as_spark_reads(columns: Columns, found: Rows) -> Columns:
    return {name: (sql, arrow, [row[name] for row in found]) for name, (sql, arrow, _) in columns.items()}


def spark_rows(spark: Run, name: str) -> Rows:
    return spark(f"SELECT * FROM {name} ORDER BY k").to_pylist()


def _before_the_last_second(value: datetime.date) -> datetime.date:
    """Java's ORC has no form for the last second before 1970."""
    return value.replace(second=58) if isinstance(value, datetime.datetime) and value.year == 1969 else value


def _gregorian(value: datetime.date) -> datetime.date:
    """Hive 2's classes write Julian days before 1582-10-15, and no file says so."""
    return value.replace(year=value.year + 1600) if value.year < 1583 else value


_CHANGES: dict[str, Callable[[datetime.date], datetime.date]] = {"orc": _before_the_last_second, "avro": _gregorian}
"""Store -> days and moments that its files hold alike here and in Spark, made from other values."""


def _changed(value: Any, change: Callable[[datetime.date], datetime.date]) -> Any:
    match value:
        case datetime.date():
            return change(value)
        case dict():
            return {name: _changed(part, change) for name, part in value.items()}
        case list() | tuple():
            return type(value)(_changed(part, change) for part in value)
    return value


@contextmanager
def spark_table(spark: Run, name: str, form: str, columns: Columns, folder: str) -> Iterator[None]:
    """Table of Spark over a folder, or a file, with the columns of the zoo and `k`."""
    types = _types(columns)
    if form == "json":
        # Its names have the case of the file, ours none.
        types = types.lower()
    clause = STORES[form] if form in ("csv", "avro") else f"USING {form}"
    spark(f"CREATE TABLE {name} (k BIGINT, {types}) {clause} LOCATION '{folder}'")
    try:
        yield
    finally:
        spark(f"DROP TABLE {name}")


def _types(columns: Columns) -> str:
    return ", ".join(f"{column} {sql}" for column, (sql, _, _) in columns.items())


@pytest.mark.variants(2)
@pytest.mark.parametrize("store", _FORMS)
def test_part_of_ours(context: sharkpy.SharkContext, spark: Run, store: str, tmp_path: Path) -> None:
    ours_read_by_spark(context, spark, store, tmp_path, few_columns())


@pytest.mark.variants(2)
@pytest.mark.parametrize("store", _FORMS)
def test_part_of_theirs(context: sharkpy.SharkContext, spark: Run, store: str, tmp_path: Path) -> None:
    theirs_read_here(context, spark, store, tmp_path, few_columns())


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("store", [store for store in _FORMS if store != "csv"])
def test_all_pairs(context: sharkpy.SharkContext, spark: Run, store: str, tmp_path: Path) -> None:
    both_ways(context, spark, store, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_pairs_by_hive_s_classes(context: sharkpy.SharkContext, hive_spark: Run, tmp_path: Path) -> None:
    both_ways(context, hive_spark, "avro", tmp_path)


def both_ways(context: sharkpy.SharkContext, spark: Run, store: str, folder: Path) -> None:
    for part, walk in (("ours", ours_read_by_spark), ("theirs", theirs_read_here)):
        (folder / part).mkdir()
        walk(context, spark, store, folder / part, all_columns())

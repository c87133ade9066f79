"""Random queries: sharkpy gives DuckDB's and Spark SQL's answers, and the same ones under every forced choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

import sharkpy
from tests.differential.engines import duck_session, rows_of, same_rows, shark_session
from tests.differential.expressions import Sql
from tests.differential.queries import random_query

QUICK, SLOW = 250, 5_000
ENCODINGS = ("plain", "narrow", "bit_packed", "delta", "dictionary", "run_length", "constant", "scaled", "block")
CONFIGURATIONS: Mapping[str, Mapping[str, object]] = {
    "blocks of 4 rows": {"shark.block.rows": 4},
    "pruning off": {"shark.block.rows": 4, "shark.pruning": False},
    **{f"{name} encoding": {"shark.test.encoding": name, "shark.block.rows": 5} for name in ENCODINGS},
}
RDD_TASKS: Mapping[str, Mapping[str, object]] = {
    "as chosen": {},
    "broadcast": {"shark.test.join": "broadcast"},
    "shuffle": {"shark.test.join": "shuffle"},
    "every key heavy": {"shark.test.join": "shuffle", "shark.test.skew": True},
    "exchanges to several tasks": {
        "shark.test.join": "shuffle",
        "shark.task.single.max.rows": 0,
        "shark.task.single.max.bytes": 0,
        "shark.exchange.buckets": 7,
        "shark.sort.single.max.rows": 0,
    },
    "every key heavy, exchanges to several tasks": {
        "shark.test.join": "shuffle",
        "shark.test.skew": True,
        "shark.exchange.buckets": 7,
        "shark.task.single.max.rows": 0,
        "shark.task.single.max.bytes": 0,
        "shark.join.replicate.max.rows": 0,
    },
}


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duck_session()
    yield connection
    connection.close()


def compare_with_duckdb(
    context: sharkpy.SharkContext, duck: duckdb.DuckDBPyConnection, seed: int, first: int, count: int
) -> None:
    """Compare answers; fails with the seed, the number and both texts of every query with another answer."""
    failures = []
    for index in range(first, first + count):
        query = random_query(seed, index)
        expected = rows_of(duck.sql(query.duck).to_arrow_table())
        failures += _difference(context, f"{seed}/{index}", query, expected)
    assert not failures, "\n".join(failures)


def _difference(context: sharkpy.SharkContext, name: str, query: Sql, expected: list[tuple[object, ...]]) -> list[str]:
    try:
        actual = rows_of(context.sql(query.hive).to_arrow())
    except sharkpy.SharkError as error:
        return [f"{name}: {error}\n  {query.hive}"]
    if same_rows(actual, expected):
        return []
    return [f"{name}: {actual[:5]} instead of {expected[:5]}\n  {query.hive}\n  {query.duck}"]


def test_driver(duck: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    with shark_session(tmp_path) as context:
        compare_with_duckdb(context, duck, 1, 0, QUICK)


@pytest.mark.variants(2)
@pytest.mark.parametrize("name", ["blocks of 4 rows", "dictionary encoding"])
def test_memory_store(duck: duckdb.DuckDBPyConnection, tmp_path: Path, name: str) -> None:
    with shark_session(tmp_path, CONFIGURATIONS[name], cached=True) as context:
        compare_with_duckdb(context, duck, 2, 0, QUICK // 2)


@pytest.mark.spark
def test_rdd_tasks(duck: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    settings = {"shark.placement.driver": False, "shark.block.rows": 6}
    with shark_session(tmp_path, settings, cached=True) as context:
        compare_with_duckdb(context, duck, 3, 0, 12)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("part", range(5))
def test_many_queries(duck: duckdb.DuckDBPyConnection, tmp_path: Path, part: int) -> None:
    with shark_session(tmp_path) as context:
        compare_with_duckdb(context, duck, 4, part * SLOW // 5, SLOW // 5)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_configurations(duck: duckdb.DuckDBPyConnection, tmp_path: Path, name: str) -> None:
    with shark_session(tmp_path, CONFIGURATIONS[name], cached=True) as context:
        compare_with_duckdb(context, duck, 5, 0, 150)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", RDD_TASKS)
def test_many_queries_as_rdd_tasks(duck: duckdb.DuckDBPyConnection, tmp_path: Path, name: str) -> None:
    settings = {"shark.placement.driver": False, "shark.block.rows": 6, **RDD_TASKS[name]}
    with shark_session(tmp_path, settings, cached=True) as context:
        compare_with_duckdb(context, duck, 6, 0, 80)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.oracle
@pytest.mark.timeout(1200)
def test_spark_sql(spark_sql: SparkSession, tmp_path: Path) -> None:
    from tests.differential.spark_oracle import add_tables, spark_rows

    failures: list[str] = []
    add_tables(spark_sql)
    with shark_session(tmp_path) as context:
        for index in range(250):
            query = random_query(7, index)
            expected = spark_rows(spark_sql, query.on_spark)
            if expected is not None:
                failures += _difference(context, f"7/{index}", query, expected)
    assert not failures, "\n".join(failures)

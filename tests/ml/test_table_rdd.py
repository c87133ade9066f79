"""TableRDD: a query's rows as an RDD. Lazy, typed, fused with the user's functions, which errors name."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import py4j.java_gateway
import pyarrow as pa
import pytest
from pyspark import StorageLevel
from pyspark.errors.exceptions.captured import install_exception_handler

import sharkpy
from sharkpy.base.errors import (
    BindError,
    CancelledError,
    ColumnNotFoundError,
    DataError,
    ExecutionError,
    ParameterError,
    StatementTimeoutError,
    TableNotFoundError,
)
from sharkpy.ml.rdd.rows import Row
from sharkpy.ml.rdd.table_rdd import TableRDD
from tests.waiting import allowed, until, when

pytestmark = pytest.mark.spark
NUM_ROWS = 5000


@pytest.fixture(scope="module")
def ctx(tasks: sharkpy.SharkContext) -> Iterator[sharkpy.SharkContext]:
    tasks.sql("CREATE DATABASE table_rdd; USE table_rdd")
    tasks.sql(
        "CREATE TABLE people TBLPROPERTIES ('shark.cache'='MEMORY_ONLY') AS SELECT n AS id, n % 50 AS age, "
        f"concat('name ', n % 7) AS name FROM (SELECT explode(sequence(1, {NUM_ROWS})) AS n) t"
    )
    yield tasks
    tasks.sql("USE default; DROP DATABASE table_rdd CASCADE")


@pytest.fixture
def people(ctx: sharkpy.SharkContext) -> TableRDD:
    return ctx.sql2rdd("SELECT id, age, name FROM people")


def expected() -> list[tuple[int, int, str]]:
    return [(n, n % 50, f"name {n % 7}") for n in range(1, NUM_ROWS + 1)]


def test_rows_are_typed_and_named(people: TableRDD) -> None:
    rows = people.collect()
    assert sorted(rows) == expected()
    assert isinstance(rows[0], Row)
    assert (people.columns, str(people.schema["age"].dtype)) == (("id", "age", "name"), "int")
    assert repr(people) == "<TableRDD id int, age int, name string>"
    assert people.getNumPartitions() > 1


def test_functions_of_rows(people: TableRDD) -> None:
    assert people.map_rows(lambda row: row.id + row["age"] + row.get_int("age")).sum() == sum(
        n + 2 * (n % 50) for n in range(1, NUM_ROWS + 1)
    )
    assert people.mapRows(lambda row: row.getInt("age")).max() == 49
    assert people.filter(lambda row: row.age == 3).map(lambda row: row.id).count() == 100
    assert people.flatMap(lambda row: row.name.split()).countByValue()["name"] == NUM_ROWS


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("name", "found"),
    {
        "count": lambda rdd: rdd.count() == NUM_ROWS,
        "first": lambda rdd: isinstance(rdd.first(), Row),
        "take": lambda rdd: len(rdd.take(7)) == 7,
        "top": lambda rdd: rdd.top(2) == [(5000, 0, "name 2"), (4999, 49, "name 1")],
        "distinct": lambda rdd: rdd.map(lambda row: row.age).distinct().count() == 50,
        "groupByKey": lambda rdd: (
            dict(rdd.map(lambda row: (row.age, 1)).groupByKey().mapValues(len).collect())[4] == 100
        ),
        "reduceByKey": lambda rdd: rdd.map(lambda row: (row.name, 1)).reduceByKey(int.__add__).count() == 7,
        "sortBy": lambda rdd: rdd.sortBy(lambda row: -row.id).first().id == NUM_ROWS,
        "join": lambda rdd: rdd.keyBy(lambda row: row.id).join(rdd.keyBy(lambda row: row.id)).count() == NUM_ROWS,
        "union": lambda rdd: rdd.union(rdd).count() == 2 * NUM_ROWS,
        "zipWithIndex": lambda rdd: rdd.zipWithIndex().values().max() == NUM_ROWS - 1,
        "zip": lambda rdd: rdd.zip(rdd).map(lambda pair: pair[0] == pair[1]).reduce(lambda a, b: a and b),
        "cartesian": lambda rdd: (
            rdd.filter(lambda row: row.id < 4).cartesian(rdd.filter(lambda row: row.id < 3)).count() == 6
        ),
        "coalesce": lambda rdd: rdd.coalesce(1).glom().map(len).collect() == [NUM_ROWS],
        "repartition": lambda rdd: rdd.repartition(3).getNumPartitions() == 3,
        "sample": lambda rdd: 200 < rdd.sample(False, 0.1, 1).count() < 800,
        "aggregate": lambda rdd: rdd.aggregate(0, lambda total, row: total + row.age, int.__add__) == 122500,
        "toLocalIterator": lambda rdd: sum(row.age for row in rdd.toLocalIterator()) == 122500,
        "pyspark's cache": lambda rdd: (ages := rdd.map(lambda row: row.age).cache()).sum() == ages.sum() == 122500,
        "isEmpty": lambda rdd: not rdd.isEmpty() and rdd.filter(lambda row: False).isEmpty(),
        "countApprox": lambda rdd: rdd.countApprox(60_000) == NUM_ROWS,
        "barrier": lambda rdd: (
            rdd.map(lambda row: (row.id, 1)).partitionBy(2).barrier().mapPartitions(list).count() == NUM_ROWS
        ),
    }.items(),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_all_of_pyspark(people: TableRDD, name: str, found: Any) -> None:
    assert found(people)


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT age, count(*) AS n, sum(id) AS total FROM people GROUP BY age",
        "SELECT a.id, b.name FROM people a JOIN people b ON a.id = b.id + 1 WHERE a.age < 5",
        "SELECT name, id FROM people ORDER BY name, id DESC",
        "SELECT id FROM people ORDER BY age DESC, id LIMIT 12",
        "SELECT id FROM people WHERE id < 0",
        "SELECT 1 AS one, NULL AS nothing, array(1, 2) AS many, named_struct('x', 1.5BD) AS s, map('k', 2) AS m",
        "SELECT id, row_number() OVER (PARTITION BY age ORDER BY id) AS r FROM people WHERE id <= 300",
        "SELECT name, cast(avg(age) AS DECIMAL(10,2)) FROM people GROUP BY name HAVING count(*) > 714",
        "SELECT DISTINCT age FROM people UNION ALL SELECT id FROM people WHERE id < 10",
    ],
)
def test_answers_are_those_of_sql(ctx: sharkpy.SharkContext, query: str) -> None:
    found, wanted = ctx.sql2rdd(query).collect(), ctx.sql(query).fetchall()
    if "ORDER BY" not in query or "OVER" in query:
        found, wanted = sorted(found, key=str), sorted(wanted, key=str)
    assert list(map(tuple, found)) == wanted


def test_nothing_runs_before_it_is_needed(tmp_path: Path) -> None:
    program = f"""
import sharkpy
with sharkpy.connect("local[2]", {str(tmp_path)!r}) as ctx:
    ctx.sql("CREATE TABLE t TBLPROPERTIES ('shark.cache'='MEMORY_ONLY') AS SELECT explode(array(1, 2, 3)) AS n")
    rdd = ctx.sql2rdd("SELECT n, count(*) AS c FROM t GROUP BY n")
    made = [rdd.map(len), rdd.filter(bool), rdd.flatMap(list), rdd.mapPartitions(list), rdd.map_rows(len)]
    made += [rdd.map_batches(len), rdd.map_batches(len, "x int"), rdd.key_by("n"), rdd.cache(), rdd.union(rdd)]
    made += [rdd.map(len).cache(), rdd.key_by("n").partitionBy(3), rdd.coalesce(1), repr(rdd), rdd.explain()]
    assert not ctx.engine.is_spark_started
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("SELECT nme FROM people", ColumnNotFoundError, 'no column "nme"'),
        ("SELECT * FROM nobody", TableNotFoundError, "nobody"),
        ("SHOW TABLES", BindError, "sql2rdd takes a query"),
    ],
)
def test_errors_of_names_are_early(ctx: sharkpy.SharkContext, text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ctx.sql2rdd(text)


def half(row: Row) -> float:
    return 1 / (row.id - 50)


@pytest.mark.variants
@pytest.mark.parametrize(
    "action",
    {
        "map": lambda rdd: rdd.map(half).collect(),
        "filter, first": lambda rdd: rdd.filter(half).map(lambda row: row).collect(),
        "behind a shuffle": lambda rdd: rdd.map(lambda row: (row.age, row)).repartition(2).values().map(half).sum(),
        "before a shuffle": lambda rdd: rdd.map(lambda row: (half(row), 1)).reduceByKey(int.__add__).collect(),
        "take": lambda rdd: rdd.map(half).take(NUM_ROWS),
        "iterated": lambda rdd: list(rdd.map(half).toLocalIterator()),
    }.values(),
    ids=["map", "filter", "behind", "before", "take", "iterated"],
)
def test_a_function_that_raises_is_named(people: TableRDD, action: Any) -> None:
    with pytest.raises(ExecutionError) as caught:
        action(people)
    error = caught.value
    assert "in half" in error.message
    assert "return 1 / (row.id - 50)" in error.message
    assert "ZeroDivisionError: division by zero" in error.message
    assert "partition" in error.message
    assert error.sqlstate == "38000"
    assert "java" not in error.message
    assert people.count() == NUM_ROWS


@pytest.mark.slow
def test_errors_are_the_same_beside_a_spark_session(people: TableRDD, monkeypatch: pytest.MonkeyPatch) -> None:
    """A SparkSession makes pyspark convert some of Java's exceptions for the whole process."""
    monkeypatch.setattr(py4j.java_gateway, "get_return_value", py4j.java_gateway.get_return_value)
    install_exception_handler()
    with pytest.raises(ExecutionError, match="in half"):
        people.map(half).collect()


def test_errors_of_the_query_are_the_engines(ctx: sharkpy.SharkContext) -> None:
    rdd = ctx.sql2rdd("SELECT assert_true(id < 100) FROM people")
    with pytest.raises(ExecutionError) as caught:
        rdd.map(len).collect()
    assert "Traceback" not in caught.value.message


def test_results_that_cannot_be_sent(people: TableRDD) -> None:
    with pytest.raises(ExecutionError, match=r"a task failed: .*[Pp]ickl"):
        people.map(lambda row: threading.Lock()).collect()


# Batches


def test_map_batches(people: TableRDD) -> None:
    batches = people.arrow_batches().collect()
    assert batches[0].schema == pa.schema([("id", pa.int32()), ("age", pa.int32()), ("name", pa.string())])
    assert people.map_batches(lambda batch: batch.num_rows).sum() == NUM_ROWS
    assert sorted(row for batch in batches for row in batch["id"].to_pylist()) == list(range(1, NUM_ROWS + 1))


def test_map_batches_with_a_schema(people: TableRDD) -> None:
    def roots(batch: pa.RecordBatch) -> dict[str, Any]:
        return {"root": np.sqrt(batch["id"].to_numpy()), "id": batch["id"]}

    made = people.map_batches(roots, "id bigint, root double")
    assert isinstance(made, TableRDD)
    assert str(made.schema["id"].dtype) == "bigint"
    assert sorted(made.collect())[3] == (4, 2.0)
    assert made.filter(lambda row: row.root == 3).map(lambda row: row.id).collect() == [9]
    assert (
        made.map_batches(lambda batch: {"n": [batch.num_rows]}, {"n": "int"}).map(lambda row: row.n).sum() == NUM_ROWS
    )
    assert "Step" in made.explain()


@pytest.mark.parametrize(
    "returned",
    {
        "batch": lambda b: b.select(["age"]),
        "table": lambda b: pa.table(b.select(["age"])),
        "dict": lambda b: {"age": b["age"].to_pylist()},
        "pandas": lambda b: b.select(["age"]).to_pandas(),
        "numpy": lambda b: {"AGE": b["age"].to_numpy()},
        "none": lambda b: None if b["age"][0].as_py() < 0 else b.select(["age"]),
    }.values(),
    ids=["batch", "table", "dict", "pandas", "numpy", "none"],
)
def test_what_a_batch_function_may_return(people: TableRDD, returned: Any) -> None:
    schema = pa.schema([("age", pa.int64())])
    assert people.map_batches(returned, schema).map(lambda row: row.age).sum() == 122500


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("function", "schema", "error", "message"),
    [
        (lambda b: {"a": b["name"]}, "a int", DataError, 'column "a" is int and cannot have \'name'),
        (lambda b: {"b": b["id"]}, "a int", ColumnNotFoundError, 'no column "a" in what'),
        (lambda b: 7, "a int", DataError, "is of type int"),
        (lambda b: {"a": [1, 2], "b": [1]}, "a int, b int", DataError, "not a batch of rows"),
        (lambda b: {"a": [1 // 0]}, "a int", ExecutionError, "ZeroDivisionError"),
        (lambda b: {"a": [300]}, "a tinyint", DataError, "cannot have 300"),
        (lambda b: {}, ["a"], ParameterError, "with types"),
    ],
)
def test_batches_that_do_not_fit(people: TableRDD, function: Any, schema: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        people.map_batches(function, schema).collect()


def test_to_arrow(ctx: sharkpy.SharkContext) -> None:
    rdd = ctx.sql2rdd("SELECT id, id AS id2, 1.5BD AS d FROM people WHERE id <= 2 ORDER BY id")
    assert rdd.to_arrow().to_pylist() == [
        {"id": 1, "id2": 1, "d": Decimal("1.5")},
        {"id": 2, "id2": 2, "d": Decimal("1.5")},
    ]


# The same rows each time; kept rows


def test_tables_are_seen_as_they_were(ctx: sharkpy.SharkContext) -> None:
    ctx.sql("CREATE TABLE growing TBLPROPERTIES ('shark.cache'='MEMORY') AS SELECT explode(array(1, 2, 3)) AS n")
    old = ctx.sql2rdd("SELECT n FROM growing")
    assert old.count() == 3
    ctx.sql("INSERT INTO growing VALUES (4)")
    assert (old.count(), old.map(lambda row: row.n).sum()) == (3, 6)
    assert ctx.sql2rdd("SELECT n FROM growing").count() == 4
    ctx.sql("INSERT OVERWRITE TABLE growing VALUES (9)")
    assert sorted(old.collect()) == [(1,), (2,), (3,)]
    assert old.map_batches(lambda batch: batch.num_rows).sum() == len(old.to_arrow()) == 3


def test_cached_rows_are_blocks(ctx: sharkpy.SharkContext) -> None:
    rdd = ctx.sql2rdd("SELECT age, sum(id) AS total, rand() AS r FROM people GROUP BY age").cache()
    before = len(ctx.table_cache.versions.all())
    of_others = rdd.ctx._jsc.getPersistentRDDs().size()
    assert repr(rdd).endswith("(cached)>")
    kept = sorted(rdd.map(lambda row: row.r).collect())
    assert sorted(rdd.map(lambda row: row.r).collect()) == kept
    assert len(ctx.table_cache.versions.all()) == before + 1
    assert rdd.plan.label.startswith("Scan rdd.rows_")
    assert "BlockScan" in rdd.explain()
    assert rdd.getStorageLevel() == StorageLevel.MEMORY_ONLY
    assert rdd.ctx._jsc.getPersistentRDDs().size() <= of_others
    rdd.unpersist()
    assert len(ctx.table_cache.versions.all()) == before
    assert sorted(rdd.map(lambda row: row.r).collect()) != kept


def test_what_was_made_before_reads_cached_rows_too(ctx: sharkpy.SharkContext) -> None:
    rdd = ctx.sql2rdd("SELECT id, rand() AS r FROM people WHERE id <= 100")
    r, mapped = rdd.map(lambda row: row.r), rdd.map_batches(lambda b: {"r": b["r"]}, "r double")
    assert r.collect() != r.collect()
    rdd.persist(StorageLevel.MEMORY_AND_DISK)
    kept = sorted(r.collect())
    assert sorted(r.collect()) == kept == sorted(row.r for row in mapped.collect())


def test_blocks_are_freed_with_the_last_rdd(ctx: sharkpy.SharkContext) -> None:
    def tables() -> set[str]:
        gc.collect()
        return {entry.table.table_id for entry in ctx.table_cache.versions.all()}

    before = tables()
    rdd = ctx.sql2rdd("SELECT id FROM people").cache()
    mapped = rdd.map(lambda row: row.id)
    assert mapped.count() == NUM_ROWS
    (made,) = tables() - before
    del rdd
    assert made in tables()
    assert mapped.count() == NUM_ROWS
    del mapped
    until(lambda: made not in tables())


# Ends from outside


def sleeping(row: Row) -> int:
    time.sleep(0.01)
    return int(row.id)


def test_cancel_ends_an_action(ctx: sharkpy.SharkContext, people: TableRDD) -> None:
    slow = people.map(sleeping)
    when(lambda: ctx.num_running, ctx.cancel)
    started = time.monotonic()
    with pytest.raises(CancelledError):
        slow.repartition(2).count()
    assert time.monotonic() - started < allowed(15)
    assert people.map(lambda row: row.id).max() == NUM_ROWS
    assert slow.take(1) == [1]


def test_a_time_limit_ends_an_action(ctx: sharkpy.SharkContext) -> None:
    rdd = ctx.sql2rdd("SELECT id FROM people")
    ctx.sql("SET shark.query.timeout=0.5")
    try:
        with pytest.raises(StatementTimeoutError):
            rdd.map(sleeping).count()
    finally:
        ctx.sql("SET shark.query.timeout=0")


def test_the_users_job_group_stays(people: TableRDD) -> None:
    spark = people.ctx
    spark.setJobGroup("mine", "my jobs")
    try:
        before = len(spark.statusTracker().getJobIdsForGroup("mine"))
        assert people.count() == NUM_ROWS
        assert len(spark.statusTracker().getJobIdsForGroup("mine")) > before
        assert spark.getLocalProperty("spark.jobGroup.id") == "mine"
    finally:
        spark.setLocalProperty("spark.jobGroup.id", None)


# Everything that a task of the query may need


def test_functions_and_scripts_run_in_its_tasks(ctx: sharkpy.SharkContext) -> None:
    ctx.register_function("plus_one", lambda x: x + 1, "int", ["int"])
    assert ctx.sql2rdd("SELECT plus_one(id) AS n FROM people").map(lambda row: row.n).sum() == sum(
        range(2, NUM_ROWS + 2)
    )
    rdd = ctx.sql2rdd("SELECT TRANSFORM(id, age) USING 'cat' AS (id INT, age INT) FROM people")
    assert rdd.map(lambda row: row.age).sum() == 122500


def test_an_rdd_goes_back_to_sql(ctx: sharkpy.SharkContext, people: TableRDD) -> None:
    ctx.save_as_table(people.map(lambda row: (row.id, row.age * 2)), "doubled", schema="id int, twice int", cache=True)
    assert ctx.sql("SELECT count(*), sum(twice) FROM doubled").fetchall() == [(NUM_ROWS, 245000)]

"""RDDs by key of tables in buckets: joined, cogrouped and grouped without a shuffle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.core.rdd import Partitioner

import sharkpy
from sharkpy.base.errors import BindError, ColumnNotFoundError, TypeMismatchError

pytestmark = pytest.mark.spark
TABLES = {
    "a": (
        "'shark.cache'='MEMORY_ONLY'",
        "SELECT id % 60 - 3 AS k, id AS v, cast(id % 4 AS STRING) AS s",
        "DISTRIBUTE BY k",
    ),
    "b": ("'shark.cache'='MEMORY_ONLY', 'shark.copartition'='a'", "SELECT id AS k, id * 2 AS w", "DISTRIBUTE BY k"),
    "loose": ("'shark.cache'='MEMORY_ONLY'", "SELECT id AS k, id AS x", ""),
    "pairs": (
        "'shark.cache'='MEMORY_ONLY'",
        "SELECT id % 9 AS x, cast(id % 5 AS STRING) AS y, id AS v",
        "DISTRIBUTE BY x, y",
    ),
}
A = [(n % 60 - 3, n) for n in range(1, 501)]
B = [(n, 2 * n) for n in range(1, 501)]


@pytest.fixture(scope="module")
def ctx(tasks: sharkpy.SharkContext) -> Iterator[sharkpy.SharkContext]:
    tasks.sql("CREATE DATABASE rdd_keys; USE rdd_keys")
    for name, (properties, select, distribute) in TABLES.items():
        rows = "(SELECT explode(sequence(1, 500)) AS id) t"
        tasks.sql(f"CREATE TABLE {name} TBLPROPERTIES ({properties}) AS {select} FROM {rows} {distribute}")
    yield tasks
    tasks.sql("USE default; DROP DATABASE rdd_keys CASCADE")


@pytest.fixture(scope="module")
def a(ctx: sharkpy.SharkContext) -> Any:
    return ctx.sql2rdd("SELECT k, v FROM a").key_by("k").mapValues(lambda row: row.v)


@pytest.fixture(scope="module")
def b(ctx: sharkpy.SharkContext) -> Any:
    return ctx.sql2rdd("SELECT k, w FROM b").keyBy("k").mapValues(lambda row: row.w)


def shuffles(rdd: Any) -> int:
    """Number of shuffles in the lineage of an RDD."""
    return int(rdd.toDebugString().decode().count("Shuffled"))


def in_plain_pyspark(made: Any, pairs: list[tuple[Any, Any]]) -> Any:
    return made.ctx.parallelize(pairs, 3)


def settled(pairs: list[Any]) -> list[Any]:
    """Pairs without the order of rows and of groups."""
    return sorted(((key, _plain(value)) for key, value in pairs), key=repr)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return sorted(value) if hasattr(value, "data") else value


METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "join": lambda a, b: a.join(b),
    "leftOuterJoin": lambda a, b: a.leftOuterJoin(b),
    "rightOuterJoin": lambda a, b: a.rightOuterJoin(b),
    "fullOuterJoin": lambda a, b: a.fullOuterJoin(b),
    "cogroup": lambda a, b: a.cogroup(b),
    "groupWith": lambda a, b: a.groupWith(b, b),
    "subtractByKey": lambda a, b: a.subtractByKey(b),
    "union": lambda a, b: a.union(b),
    "groupByKey": lambda a, b: a.groupByKey(),
    "reduceByKey": lambda a, b: b.union(a).reduceByKey(int.__add__),
    "aggregateByKey": lambda a, b: a.aggregateByKey(0, max, max),
    "foldByKey": lambda a, b: a.foldByKey(0, max),
    "combineByKey": lambda a, b: a.combineByKey(abs, max, max),
    "a join of joins": lambda a, b: a.join(b).mapValues(sum).join(b.filter(lambda pair: pair[0] % 2)),
    "partitionBy": lambda a, b: a.partitionBy(a.getNumPartitions()),
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_shuffled(a: Any, b: Any, method: str) -> None:
    made = METHODS[method](a, b)
    assert shuffles(made) == 0
    assert made.partitioner == a.partitioner
    wanted = METHODS[method](in_plain_pyspark(a, A), in_plain_pyspark(a, B))
    assert settled(made.collect()) == settled(wanted.collect())


@pytest.mark.slow
def test_one_partition_a_bucket(ctx: sharkpy.SharkContext, a: Any, b: Any) -> None:
    spec = ctx.catalog.table("rdd_keys", "a").buckets
    assert spec is not None
    assert a.getNumPartitions() == b.getNumPartitions() == spec.num_buckets
    assert a.partitioner == b.partitioner
    assert a.partitioner.numPartitions == spec.num_buckets
    for partition, keys in enumerate(a.keys().glom().collect()):
        assert {a.partitioner(key) for key in keys} <= {partition}
    # A filter leaves blocks out, and no partition.
    few = ctx.sql2rdd("SELECT k, v FROM a WHERE k = 7").key_by("k")
    assert few.getNumPartitions() == spec.num_buckets
    assert few.join(b).count() == 9


def test_queries_that_keep_the_buckets(ctx: sharkpy.SharkContext, a: Any, b: Any) -> None:
    summed = ctx.sql2rdd("SELECT k, sum(v) AS total FROM a GROUP BY k").key_by("k")
    joined = ctx.sql2rdd("SELECT a.k, w, v FROM a JOIN b ON a.k = b.k WHERE v > 9").key_by("k")
    assert summed.partitioner == joined.partitioner == a.partitioner
    both = summed.join(joined)
    assert shuffles(both) == 0
    assert dict(both.mapValues(lambda rows: (rows[0].total, rows[1].w)).collect())[7] == (sum(range(10, 500, 60)), 14)


def test_kept_rows_keep_the_buckets(ctx: sharkpy.SharkContext, b: Any) -> None:
    rdd = ctx.sql2rdd("SELECT v, k FROM a WHERE v > 9").cache()
    joined = rdd.key_by("k").join(b)
    assert rdd.key_by("k").partitioner == b.partitioner
    assert shuffles(joined) == 0
    assert joined.count() == sum(1 for key, v in A if key > 0 and v > 9)
    assert rdd.plan.label.startswith("Scan rdd.rows_")
    assert ctx.sql2rdd("SELECT v FROM a").cache().count() == 500
    rdd.unpersist()


def test_other_keys_have_no_partitioner(ctx: sharkpy.SharkContext, a: Any) -> None:
    other = ctx.sql2rdd("SELECT k, x FROM loose").key_by("k")
    assert other.partitioner is None
    assert ctx.sql2rdd("SELECT k, v, s FROM a").key_by("s").partitioner is None
    assert ctx.sql2rdd("SELECT k + 1 AS k FROM a").key_by("k").partitioner is None
    joined = a.join(other)
    assert shuffles(joined) > 0
    assert joined.count() == sum(1 for key, _ in A if key > 0)
    assert a.map(lambda pair: pair).partitioner is None


@pytest.mark.slow
def test_keys_of_several_columns(ctx: sharkpy.SharkContext) -> None:
    pairs = ctx.sql2rdd("SELECT y, v, x FROM pairs")
    keyed = pairs.key_by("y", "x")
    assert keyed.first()[0] == (keyed.first()[1].y, keyed.first()[1].x)
    grouped = keyed.groupByKey().mapValues(len)
    assert shuffles(grouped) == 0
    assert grouped.count() == 45
    for partition, keys in enumerate(keyed.keys().glom().collect()):
        assert {keyed.partitioner(key) for key in keys} <= {partition}
    # Only an equal x does not bring rows together.
    assert pairs.key_by("x").partitioner is None


def test_lookup_runs_one_task(a: Any) -> None:
    tracker = a.ctx.statusTracker()
    a.ctx.setJobGroup("lookups", "")
    try:
        assert sorted(a.lookup(7)) == list(range(10, 501, 60))
    finally:
        a.ctx.setLocalProperty("spark.jobGroup.id", None)
    (job,) = tracker.getJobIdsForGroup("lookups")
    (stage,) = tracker.getJobInfo(job).stageIds
    assert tracker.getStageInfo(stage).numTasks == 1
    assert a.lookup(10_000) == []
    with pytest.raises(TypeMismatchError, match="not of the type int"):
        a.lookup("seven")


@pytest.mark.slow
def test_plain_rdds_follow_the_same_partitioner(a: Any) -> None:
    hashed = a.partitioner
    moved = a.map(lambda pair: pair).partitionBy(hashed.numPartitions, hashed.partitionFunc)
    assert moved.partitioner == hashed
    joined = moved.join(a)
    assert shuffles(joined) == 1
    assert joined.count() == sum(len([1 for other, _ in A if other == key]) for key, _ in A)
    plain = a.ctx.parallelize(B).partitionBy(hashed.numPartitions, hashed.partitionFunc)
    assert a.join(plain).count() == sum(1 for key, _ in A if key > 0)


def test_kept_pairs_are_joined_in_place(a: Any, b: Any) -> None:
    """Both sides in Spark's cache, as iterative programs have them."""
    left, right = a.groupByKey().mapValues(len).cache(), b.mapValues(abs).cache()
    joined = left.join(right)
    assert shuffles(joined) == 0
    assert dict(joined.collect())[7] == (9, 14)
    left.unpersist()
    right.unpersist()


def test_explicit_numbers_of_partitions_count(a: Any, b: Any) -> None:
    joined = a.join(b, a.getNumPartitions() + 1)
    assert joined.getNumPartitions() == a.getNumPartitions() + 1
    assert joined.partitioner != a.partitioner
    assert joined.count() == sum(1 for key, _ in A if key > 0)


def test_bad_keys(ctx: sharkpy.SharkContext) -> None:
    rdd = ctx.sql2rdd("SELECT k, v FROM a")
    with pytest.raises(ColumnNotFoundError, match='no column "kk"'):
        rdd.key_by("kk")
    with pytest.raises(BindError, match="takes a column"):
        rdd.key_by()
    assert rdd.keyBy(lambda row: row.v).partitioner is None
    assert isinstance(rdd.key_by("k").partitioner, Partitioner)

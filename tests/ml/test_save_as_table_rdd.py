"""RDDs as tables, written by their tasks: kinds of elements, each row once despite failures, and lost blocks made
again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sharkpy
from sharkpy.base.errors import ColumnNotFoundError, DataError, ExecutionError, SharkError
from sharkpy.columnar.block_folders import remove_abandoned
from tests.faults.cluster import run_apart
from tests.waiting import until

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def ctx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    folder = tmp_path_factory.mktemp("save_rdd")
    with sharkpy.connect("local[2]", folder / "w", shark_jvm_memory="1g", shark_block_rows=1000) as context:
        yield context


@pytest.fixture(scope="module")
def sc(ctx: sharkpy.SharkContext) -> Any:
    return ctx.engine.jobs.context


@pytest.fixture
def name(ctx: sharkpy.SharkContext, request: pytest.FixtureRequest) -> Iterator[str]:
    chosen = "t_" + "".join(letter if letter.isalnum() else "_" for letter in request.node.name.lower())
    yield chosen
    ctx.sql(f"DROP TABLE IF EXISTS {chosen}").close()


def rows(ctx: sharkpy.SharkContext, name: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in ctx.sql(f"SELECT * FROM {name}").fetchall())


class Pair(NamedTuple):
    id: int
    name: str


def line(number: int) -> tuple[int, str]:
    return number, f"n{number}"


WANTED = [line(number) for number in range(40)]


def as_rows(sc: Any) -> Any:
    from pyspark.sql import Row

    return sc.parallelize(range(40), 3).map(lambda i: Row(id=i, name=f"n{i}"))


def in_pieces(make: Any) -> Any:
    def tables(numbers: Iterator[int]) -> Iterator[Any]:
        found = list(numbers)
        yield make(found[:5])
        yield make(found[5:])

    return lambda sc: sc.parallelize(range(40), 3).mapPartitions(tables)


def by_broadcast(sc: Any) -> Any:
    names = sc.broadcast([f"n{i}" for i in range(40)])
    return sc.parallelize(range(40), 3).map(lambda i: (i, names.value[i]))


ELEMENTS = {
    "tuples": lambda sc: sc.parallelize(range(40), 3).map(line).map(lambda row: row),
    "dicts": lambda sc: sc.parallelize(range(40), 3).map(lambda i: {"name": f"n{i}", "ID": i}),
    "rows": as_rows,
    "named tuples": lambda sc: sc.parallelize([Pair(*row) for row in WANTED], 3),
    "batches": in_pieces(lambda found: pa.record_batch({"id": found, "name": [f"n{i}" for i in found]})),
    "frames": in_pieces(lambda found: pd.DataFrame({"id": found, "name": [f"n{i}" for i in found]})),
    "structured arrays": in_pieces(lambda found: np.array([line(i) for i in found], [("id", "i8"), ("name", "U4")])),
    "lines of a file": lambda sc: sc.parallelize([f"{i},n{i}" for i in range(40)], 3)
    .map(lambda text: text.split(","))
    .map(lambda parts: (int(parts[0]), parts[1])),
    "after a shuffle": lambda sc: sc.parallelize(WANTED, 3).partitionBy(4).mapValues(str.strip),
    "of Spark's cache": lambda sc: sc.parallelize(range(40), 3).map(line).cache(),
    "a union": lambda sc: sc.parallelize(WANTED[:7], 2).union(sc.parallelize(WANTED[7:], 1)),
    "with empty partitions": lambda sc: sc.parallelize(WANTED, 3).filter(lambda row: True).union(sc.emptyRDD()),
    "by a broadcast": by_broadcast,
}  # fmt: skip


NAMED = ("dicts", "rows", "named tuples", "batches", "frames", "structured arrays")


@pytest.mark.variants(3)
@pytest.mark.parametrize("cache", [None, "MEMORY_ONLY"], ids=str)
@pytest.mark.parametrize("kind", ELEMENTS)
def test_kinds_of_elements(ctx: sharkpy.SharkContext, sc: Any, name: str, kind: str, cache: Any) -> None:
    rdd = ELEMENTS[kind](sc)
    names = None if kind in NAMED else ["id", "name"]
    assert ctx.save_as_table(rdd, name, names, cache=cache) == 40
    assert rows(ctx, name) == WANTED or rows(ctx, name) == sorted((text, number) for number, text in WANTED)


def test_matrices_and_single_values(ctx: sharkpy.SharkContext, sc: Any, name: str) -> None:
    matrices = sc.parallelize(range(4), 2).map(lambda i: np.full((1000, 2), float(i)))
    assert ctx.save_as_table(matrices, name, ["a", "b"], cache="MEMORY_ONLY") == 4000
    assert ctx.sql(f"SELECT count(*), sum(a), sum(b) FROM {name}").fetchall() == [(4000, 6000.0, 6000.0)]
    assert ctx.save_as_table(sc.parallelize([1.5, None], 2), f"{name}_2") == 2
    assert ctx.sql(f"SELECT value FROM {name}_2 WHERE value IS NOT NULL").fetchall() == [(1.5,)]
    ctx.sql(f"DROP TABLE {name}_2").close()


@pytest.mark.slow
def test_a_data_frame_of_spark(ctx: sharkpy.SharkContext, sc: Any, name: str) -> None:
    from pyspark.sql import SparkSession

    frame = SparkSession(sc).createDataFrame(WANTED, "id bigint, name string")
    assert ctx.save_as_table(frame.rdd, name, frame.schema) == 40
    assert rows(ctx, name) == WANTED


def test_no_rows(ctx: sharkpy.SharkContext, sc: Any, name: str) -> None:
    with pytest.raises(DataError, match="no rows to tell the columns from"):
        ctx.save_as_table(sc.emptyRDD(), name)
    assert ctx.save_as_table(sc.emptyRDD(), name, "id int") == 0
    assert ctx.save_as_table(sc.parallelize([1, 2], 2).filter(lambda _: False), name, "id int", mode="append") == 0
    assert rows(ctx, name) == []


def raises_at(wanted: int) -> Any:
    def check(number: int) -> int:
        if number == wanted:
            raise ValueError(f"no {number} please")
        return number

    return check


BAD: dict[str, tuple[Any, Any, type[SharkError], str]] = {
    "raises": (raises_at(30), None, ExecutionError, r"an RDD raised ValueError: no 30 please \(.*line \d+, in check\)"),
    "raises at once": (raises_at(0), None, ExecutionError, "an RDD raised ValueError: no 0 please"),
    "another kind": (lambda i: i if i < 33 else "x", None, DataError, r"'x' \(row 7 of partition 2 of an RDD\)"),
    "does not fit": (
        lambda i: i * 10,
        "a tinyint",
        DataError,
        r"cannot have (130|260) \(row 0 of partition [12] of",
    ),
    "another width": (lambda i: (i,) if i < 33 else (i, i), None, DataError, "2 values for 1 columns"),
    "another name": (lambda i: {"a": i} if i < 33 else {"z": i}, None, ColumnNotFoundError, 'column "z"'),
    "other kinds at first": (lambda i: i or "x", None, DataError, "values of different kinds"),
    "a table among rows": (lambda i: i if i < 33 else np.zeros((1, 1)), None, DataError, "cannot have"),
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("case", BAD)
def test_bad_rows_leave_nothing(ctx: sharkpy.SharkContext, sc: Any, name: str, case: str) -> None:
    function, schema, kind, message = BAD[case]
    rdd = sc.parallelize(range(39), 3).map(function)
    folder = Path(ctx.engine.store.writer().memory_dir)
    blocks = set(folder.iterdir())

    def is_clean() -> bool:
        # A task that was killed while it wrote leaves a file, which the next block that needs room removes.
        remove_abandoned(str(folder))
        return set(folder.iterdir()) <= blocks

    for cache in (None, "MEMORY_ONLY"):
        with pytest.raises(kind, match=message):
            ctx.save_as_table(rdd, name, schema, cache=cache)
    assert ctx.catalog.find_table("default", name) is None
    assert not Path(ctx.catalog.managed_location("default", name)).exists()
    until(is_clean)


def dies_once(marker: str) -> Any:
    def die(number: int) -> tuple[int, str]:
        if number == 35 and not Path(marker).exists():
            Path(marker).touch()
            os._exit(1)
        return line(number)

    return die


@pytest.mark.variants(2)
@pytest.mark.parametrize("cache", [None, "MEMORY_ONLY"], ids=str)
def test_a_retried_task_writes_its_rows_once(
    ctx: sharkpy.SharkContext, sc: Any, name: str, cache: Any, tmp_path: Path
) -> None:
    rdd = sc.parallelize(range(40), 3).map(dies_once(str(tmp_path / "marker")))
    assert ctx.save_as_table(rdd, name, "id bigint, name string", cache=cache) == 40
    assert (tmp_path / "marker").exists()
    assert rows(ctx, name) == WANTED


def test_lost_blocks_are_made_again_from_the_rdd(ctx: sharkpy.SharkContext, sc: Any, name: str) -> None:
    ctx.save_as_table(sc.parallelize(range(40), 4).map(line), name, ["id", "name"], cache="MEMORY_ONLY")
    version = ctx.table_cache.version(ctx.catalog.table("default", name))
    assert version is not None
    Path(version.blocks[1].memory_path).unlink()
    ctx.sql("CLEAR CACHE").close()
    assert rows(ctx, name) == WANTED


def test_buckets_partitions_and_appends(ctx: sharkpy.SharkContext, sc: Any, name: str) -> None:
    rdd = sc.parallelize(range(40), 3).map(lambda i: (i, i % 3))
    ctx.save_as_table(rdd, name, "id int, part int", partition_by=["part"])
    assert ctx.sql(f"SELECT part, count(*) FROM {name} GROUP BY part ORDER BY part").fetchall() == [
        (0, 14),
        (1, 13),
        (2, 13),
    ]
    assert ctx.save_as_table(rdd, name, mode="append") == 40
    assert ctx.sql(f"SELECT count(*), sum(id) FROM {name}").fetchall() == [(80, 1560)]
    ctx.save_as_table(rdd, name, "id int, part int", mode="ignore")
    bucketed = f"{name}_bucketed"
    ctx.save_as_table(rdd, bucketed, "id int, part int", cache="MEMORY_ONLY", distribute_by=["id"])
    table = ctx.catalog.table("default", bucketed)
    assert table.buckets is not None
    assert ctx.lookup(bucketed, 17) == [(17, 2)]
    ctx.sql(f"DROP TABLE {bucketed}").close()


def test_a_table_rdd_is_the_engines_own_query(ctx: sharkpy.SharkContext, sc: Any, name: str) -> None:
    ctx.save_as_table([(i, i % 3, f"n{i}") for i in range(30)], f"{name}_source", ["id", "part", "name"])
    rdd = ctx.sql2rdd(f"SELECT id, part, upper(name) AS shown FROM {name}_source WHERE id >= 10")
    assert ctx.save_as_table(rdd, name, "key int, part int, shown string") == 20
    assert rows(ctx, name) == [(i, i % 3, f"N{i}") for i in range(10, 30)]
    assert [str(field.dtype) for field in ctx.catalog.table("default", name).schema] == ["int", "int", "string"]
    assert ctx.save_as_table(rdd, name, ["key", "part", "shown"], mode="append") == 20
    assert ctx.save_as_table(rdd, name, cache="MEMORY_ONLY", mode="ignore") == 0
    assert ctx.save_as_table(rdd.map(lambda row: (row.id, row.part, row["shown"])), name, mode="append") == 20
    assert ctx.sql(f"SELECT count(*), sum(key) FROM {name}").fetchall() == [(60, 3 * sum(range(10, 30)))]
    turned = ctx.sql2rdd("SELECT 'x' AS shown, 7 AS part, 8 AS `key`")
    assert ctx.save_as_table(turned, name, mode="append") == 1
    assert rows(ctx, name)[0] == (8, 7, "x")
    kept = f"{name}_kept"
    assert ctx.save_as_table(rdd.cache(), kept, cache="MEMORY_ONLY", distribute_by=["id"]) == 20
    assert ctx.lookup(kept, 17) == [(17, 2, "N17")]
    for table in (kept, f"{name}_source"):
        ctx.sql(f"DROP TABLE {table}").close()


def test_features(ctx: sharkpy.SharkContext, sc: Any, name: str) -> None:
    ctx.save_as_table([(i, i / 2, i % 2) for i in range(30)], f"{name}_source", ["id", "half", "odd"])
    features = ctx.sql2rdd(f"SELECT * FROM {name}_source").features(["id", "half"], label="odd")
    assert ctx.save_as_table(features, name) == 30
    assert rows(ctx, name) == [(float(i), i / 2, float(i % 2)) for i in range(30)]
    assert [field.name for field in ctx.catalog.table("default", name).schema] == ["id", "half", "odd"]
    ctx.sql(f"DROP TABLE {name}_source").close()


@pytest.mark.slow
def test_as_tasks_of_executors(tmp_path: Path) -> None:
    """Apart: in this process a session shares the Spark of the others, whatever its master."""
    run_apart("save_on_executors", tmp_path, module=__name__)


def save_on_executors(folder: Path) -> None:
    """A program's own file of classes is not needed there: what is sampled comes back as a schema."""
    from dataclasses import make_dataclass

    with sharkpy.connect("local-cluster[2,1,1024]", folder / "w", shark_placement_driver=False) as context:
        point = make_dataclass("Point", [("x", int), ("y", float)])
        rdd = context.engine.jobs.context.parallelize(range(10), 4).map(lambda i: point(i, i / 2))
        for cache in (None, "MEMORY_ONLY"):
            assert context.save_as_table(rdd, "points", cache=cache, mode="error") == 10
            assert context.sql("SELECT count(*), sum(x), sum(y) FROM points").fetchall() == [(10, 45, 22.5)]
            context.sql("DROP TABLE points").close()

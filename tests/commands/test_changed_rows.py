"""Counts of the rows that UPDATE, DELETE and MERGE change, for each kind of table."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.base.errors import ExecutionError
from sharkpy.execution.stages import stage_runner
from sharkpy.execution.stages.query_run import QueryRun

ROWS = "VALUES (1, 'x', 0), (2, 'y', 1), (3, 'z', 2), (4, NULL, 2)"
COLUMNS = "(a INT, s STRING, n INT)"
TABLES = {
    "parquet": f"CREATE TABLE t {COLUMNS} STORED AS PARQUET",
    "orc": f"CREATE TABLE t {COLUMNS} STORED AS ORC",
    "text": f"CREATE TABLE t {COLUMNS} STORED AS TEXTFILE",
    "buckets": f"CREATE TABLE t {COLUMNS} CLUSTERED BY (a) INTO 3 BUCKETS STORED AS PARQUET",
    "partitions": "CREATE TABLE t (a INT, s STRING) PARTITIONED BY (n INT) STORED AS PARQUET",
    "text partitions": "CREATE TABLE t (a INT, s STRING) PARTITIONED BY (n INT) STORED AS TEXTFILE",
    "cached": f"CREATE TABLE t {COLUMNS} TBLPROPERTIES ('shark.cache' = 'MEMORY')",
    "blocks": "CREATE TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') "
    "AS SELECT 1 AS a, 'x' AS s, 1 AS n WHERE false",
    "checked": "CREATE TABLE t (a INT NOT NULL, s STRING, updated INT, CHECK (updated < 10))",
}
LAKES = {
    "iceberg": ("lake-iceberg", f"CREATE TABLE t {COLUMNS} STORED BY ICEBERG"),
    "divided": ("lake-iceberg", f"CREATE TABLE t {COLUMNS} PARTITIONED BY SPEC (n) STORED BY ICEBERG"),
    "delta": ("lake-delta", f"CREATE TABLE t {COLUMNS} USING delta"),
}
STEPS = [
    ("UPDATE t SET s = 'q' WHERE a >= 3", 2),
    ("UPDATE t SET s = 'q' WHERE a >= 3", 2),
    ("UPDATE t SET s = 'q' WHERE s <> 'q' AND a > 1", 1),
    ("UPDATE t SET s = 'q' WHERE a IN (SELECT max(a) FROM t) OR a = 1", 2),
    ("UPDATE t SET s = 'q' WHERE a > 30", 0),
    ("UPDATE t SET s = NULL WHERE NULL", 0),
    ("UPDATE t SET s = 'r'", 4),
    ("DELETE FROM t WHERE a > 30", 0),
    ("DELETE FROM t WHERE NULL", 0),
    ("DELETE FROM t WHERE a = 3", 1),
    (
        "MERGE INTO t USING (SELECT explode(array(1, 2, 9)) AS k) z ON t.a = z.k "
        "WHEN MATCHED AND k = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET s = 'm' "
        "WHEN NOT MATCHED THEN INSERT VALUES (k, 'i', 5) WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s = 'b'",
        4,
    ),
    ("MERGE INTO t USING (SELECT 8 AS k) z ON a = k WHEN NOT MATCHED THEN INSERT VALUES (k, 'i', 6)", 1),
    ("MERGE INTO t USING (SELECT 8 AS k) z ON a = k WHEN NOT MATCHED THEN INSERT VALUES (k, 'i', 6)", 0),
    ("MERGE INTO t USING (SELECT 8 AS k) z ON a = k WHEN MATCHED AND s = 'no' THEN DELETE", 0),
    ("MERGE INTO t USING (SELECT explode(array(8, 8)) AS k) z ON a = k WHEN MATCHED THEN DELETE", 1),
    ("MERGE INTO t USING (SELECT 2 AS k) z ON a = k WHEN NOT MATCHED BY SOURCE AND a = 4 THEN UPDATE SET s = 'n'", 1),
    ("MERGE INTO t USING (SELECT 2 AS k) z ON a = k WHEN NOT MATCHED BY SOURCE AND a = 4 THEN DELETE", 1),
    ("DELETE FROM t", 2),
    ("DELETE FROM t", 0),
    ("UPDATE t SET s = 'r'", 0),
]


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect(warehouse=tmp_path / "warehouse") as made:
        yield made


def count(context: sharkpy.SharkContext, sql: str) -> int | None:
    return context.sql(sql).rows_written


def check_steps(context: sharkpy.SharkContext, table: str) -> None:
    context.sql(table)
    assert count(context, f"INSERT INTO t {ROWS}") == 4
    assert [(sql, count(context, sql)) for sql, _ in STEPS] == STEPS


@pytest.mark.parametrize("kind", TABLES)
def test_changed_rows_are_counted(context: sharkpy.SharkContext, kind: str) -> None:
    check_steps(context, TABLES[kind])


@pytest.mark.parametrize("kind", LAKES)
def test_changed_rows_of_lakes_are_counted(context: sharkpy.SharkContext, kind: str) -> None:
    pytest.importorskip({"delta": "deltalake"}.get(kind, "pyiceberg"), reason=f"the extra {LAKES[kind][0]}")
    check_steps(context, LAKES[kind][1])


def test_rows_that_move_to_other_partitions_are_counted_once(context: sharkpy.SharkContext) -> None:
    context.sql(TABLES["partitions"])
    context.sql(f"INSERT INTO t {ROWS}")
    merge = "MERGE INTO t USING (SELECT 1 AS a, 'm' AS s, 2 AS n) z ON t.a = z.a WHEN MATCHED THEN UPDATE SET *"
    assert count(context, merge) == 1
    assert count(context, "DELETE FROM t WHERE n = 2") == 3


def test_more_partitions_than_are_named(context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sharkpy.execution.commands.row_changes._MOST_NAMED", 1)
    context.sql(TABLES["partitions"])
    context.sql(f"INSERT INTO t {ROWS}")
    assert count(context, "UPDATE t SET s = 'q' WHERE a < 3") == 2
    assert count(context, "DELETE FROM t WHERE a IN (1, 3)") == 2
    assert context.sql("SELECT a FROM t ORDER BY a").fetchall() == [(2,), (4,)]


def test_conditions_with_random_values(context: sharkpy.SharkContext) -> None:
    """The count has the rows that were changed, not the rows of another random draw."""
    context.sql("CREATE TABLE t STORED AS PARQUET AS SELECT id AS a, 'x' AS s, 'x' AS u FROM range(10000)")
    updated = count(context, "UPDATE t SET s = 'q', u = 'q' WHERE rand() < 0.5")
    assert context.sql("SELECT count(*), count_if(u = 'q') FROM t WHERE s = 'q'").fetchall() == [(updated, updated)]
    deleted = count(context, "DELETE FROM t WHERE rand() < 0.5") or 0
    assert context.sql("SELECT count(*) FROM t").fetchall() == [(10_000 - deleted,)]


def test_a_task_in_the_driver_that_runs_again_counts_once(
    context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.sql(TABLES["parquet"])
    context.sql(f"INSERT INTO t {ROWS}")
    run_task, failures = stage_runner.run_task, [1]

    def fail_first(*arguments: object) -> Iterator[object]:
        yield from run_task(*arguments)  # type: ignore[arg-type]
        if failures:
            failures.pop()
            raise ExecutionError("a block was lost")

    monkeypatch.setattr(stage_runner, "run_task", fail_first)
    monkeypatch.setattr(QueryRun, "is_repaired", lambda *_: True)
    assert count(context, "UPDATE t SET s = 'q' WHERE a >= 3") == 2
    assert not failures


@pytest.mark.spark
def test_tasks_that_run_again_count_once(tmp_path: Path) -> None:
    conf = {"shark.placement.driver": False, "shark.block.rows": 500, "shark.jvm.memory": "512m"}
    died, here = tmp_path / "died", os.getpid()

    @sharkpy.function("int", returns="boolean")
    def is_odd(a: Any) -> Any:
        if not died.exists() and os.getpid() != here:
            died.touch()
            os._exit(1)
        return a % 2 == 1

    with sharkpy.connect("local[2]", tmp_path / "warehouse", **conf) as context:
        context.register_function("is_odd", is_odd)
        for buckets in ("", "CLUSTERED BY (a) INTO 3 BUCKETS"):
            context.sql("DROP TABLE IF EXISTS t")
            context.sql(f"CREATE TABLE t (a INT, s STRING) {buckets} TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY')")
            context.sql("INSERT INTO t SELECT cast(id AS INT), 'x' FROM range(2000)")
            assert count(context, "UPDATE t SET s = 'q' WHERE is_odd(a)") == 1000
            assert died.exists()
            died.unlink()
            assert count(context, "DELETE FROM t WHERE a < 100 AND is_odd(a)") == 50
            merge = "MERGE INTO t USING (SELECT cast(id AS INT) AS k FROM range(200)) z ON t.a = z.k "
            assert count(context, f"{merge} WHEN MATCHED THEN UPDATE SET s = 'm'") == 150
            assert count(context, f"{merge} WHEN NOT MATCHED THEN INSERT VALUES (k, 'i')") == 50
            assert count(context, "DELETE FROM t") == 2000

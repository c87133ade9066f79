"""Shuffle files that vanish between map and reduce: stages run again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sharkpy
from sharkpy.execution.stages.query_run import QueryRun
from sharkpy.execution.stages.rdd_stages import RddStages
from tests.faults.workload import QUERIES
from tests.paths_below import paths_below

pytestmark = pytest.mark.spark


def shuffle_files(context: sharkpy.SharkContext) -> list[Path]:
    """Shuffle files in Spark's own folder: another session may have started this process's SparkContext."""
    folder = Path(context.engine.jobs.context.getConf().get("spark.local.dir"))
    return [path for path in paths_below(folder, "shuffle_*") if path.is_file()]


@pytest.mark.slow
def test_shuffle_files_that_vanish(
    context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reduce side finds nothing: Spark runs the map stage again, and the answer is the same."""
    query = QUERIES[0]
    exchange = RddStages.exchange
    deleted: list[Path] = []

    def run_and_delete(self: RddStages, *arguments: object) -> object:
        answer = exchange(self, *arguments)  # type: ignore[arg-type]
        if not deleted:
            for path in shuffle_files(context):
                path.unlink()
                deleted.append(path)
        return answer

    monkeypatch.setattr(RddStages, "exchange", run_and_delete)
    assert context.sql(query).fetchall() == expected[query]
    assert deleted
    monkeypatch.undo()
    assert context.sql(query).fetchall() == expected[query]


def test_shuffle_files_and_their_blocks_vanish(context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """The map stage that Spark runs again, in the job of the reduce side, cannot read its blocks: no row is missed."""
    context.sql(
        "CREATE TABLE vanishing TBLPROPERTIES ('shark.cache'='MEMORY_ONLY') AS "
        "SELECT n, n % 40 AS g FROM (SELECT explode(sequence(1, 4000)) AS n) t"
    )
    table = context.catalog.table("default", "vanishing")
    version = context.table_cache.loaded_version(table)
    assert version is not None
    exchange = RddStages.exchange
    deleted: list[Path] = []

    def run_and_delete(self: RddStages, *arguments: object) -> object:
        answer = exchange(self, *arguments)  # type: ignore[arg-type]
        if not deleted:
            deleted.extend(shuffle_files(context))
            for path in (*deleted, *(Path(block.memory_path) for block in version.blocks)):
                path.unlink()
        return answer

    monkeypatch.setattr(RddStages, "exchange", run_and_delete)
    found = context.sql("SELECT g, count(*), sum(n) FROM vanishing GROUP BY g").fetchall()
    assert deleted
    assert (len(found), sum(row[1] for row in found), sum(row[2] for row in found)) == (40, 4000, 8_002_000)
    context.sql("DROP TABLE vanishing")


def test_shuffle_files_vanish_after_a_repair(
    context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job group of the first map stage was cancelled, as the second one met lost blocks. Its tasks, which Spark
    runs again in the job of the reduce side, do not end with that group.
    """
    version = context.table_cache.loaded_version(context.catalog.table("default", "facts"))
    assert version is not None
    exchange, is_repaired = RddStages.exchange, QueryRun.is_repaired
    exchanges = 0
    deleted: list[Path] = []

    def run_and_delete(self: RddStages, *arguments: object) -> object:
        nonlocal exchanges
        exchanges += 1
        if exchanges == 2:
            for block in version.blocks:
                Path(block.memory_path).unlink()
        return exchange(self, *arguments)  # type: ignore[arg-type]

    def mend_and_delete(self: QueryRun, *arguments: object) -> bool:
        found = is_repaired(self, *arguments)  # type: ignore[arg-type]
        if found and not deleted:
            deleted.extend(shuffle_files(context))
            for path in deleted:
                path.unlink()
        return found

    monkeypatch.setattr(RddStages, "exchange", run_and_delete)
    monkeypatch.setattr(QueryRun, "is_repaired", mend_and_delete)
    assert context.sql(QUERIES[1]).fetchall() == expected[QUERIES[1]]
    assert deleted
    assert sum(stage["repairs"] for stage in json.loads(context.history(1)[0].profile)["stages"]) == 1

"""Exchanges, broadcasts and replanning when executors are processes of their own."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import sharkpy
from tests.faults.cluster import run_apart

SCRIPT = """
CREATE TABLE facts (k INT, v INT) TBLPROPERTIES ('shark.cache' = 'MEMORY');
CREATE TABLE keys (k INT, name STRING) TBLPROPERTIES ('shark.cache' = 'MEMORY');
INSERT INTO facts SELECT t.n % 5, t.n FROM (SELECT explode(sequence(1, 1000)) AS n) t;
INSERT INTO facts SELECT t.n % 5, t.n FROM (SELECT explode(sequence(1001, 2000)) AS n) t;
INSERT INTO keys VALUES (0, 'zero'), (1, 'one'), (7, 'seven')
"""
QUERY = """SELECT name, count(*), sum(v) FROM facts JOIN keys ON facts.k = keys.k GROUP BY name ORDER BY name"""
ANSWER = [("one", 400, sum(range(1, 2001, 5))), ("zero", 400, sum(range(5, 2001, 5)))]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(300)
def test_a_join_with_aggregates(tmp_path: Path) -> None:
    """Apart: in this process a session shares the Spark of the others, whatever its master."""
    run_apart("join_in_all_ways", tmp_path, module="tests.execution.test_local_cluster")


def join_in_all_ways(folder: Path) -> None:
    with sharkpy.connect("local-cluster[2,1,1024]", folder, shark_placement_driver=False) as context:
        context.sql(SCRIPT).close()
        for single, join in itertools.product(("4m", "0"), ("", "broadcast", "shuffle")):
            conf = {"shark.task.single.max.bytes": single, "shark.test.join": join}
            session = context.new_session(**conf)
            assert session.sql(QUERY).fetchall() == ANSWER, conf
            session.stop()
        assert context.engine.jobs.context.master.startswith("local-cluster")

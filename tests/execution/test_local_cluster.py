"""Exchanges, broadcasts and replanning where executors are processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy

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
@pytest.mark.parametrize("single", ["4m", "0"])
@pytest.mark.parametrize("join", ["", "broadcast", "shuffle"])
def test_a_join_with_aggregates(tmp_path: Path, single: str, join: str) -> None:
    conf = {"shark.placement.driver": "false", "shark.task.single.max.bytes": single, "shark.test.join": join}
    with sharkpy.connect("local-cluster[2,1,1024]", tmp_path, **conf) as context:
        context.sql(SCRIPT).close()
        assert context.sql(QUERY).fetchall() == ANSWER

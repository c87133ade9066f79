"""Tables and queries that take every kind of stage: scans, hash and range exchanges, broadcasts, limits, writes."""

from __future__ import annotations

import sharkpy

QUERIES = (
    "SELECT g, count(*), sum(v) FROM facts GROUP BY g ORDER BY g",
    "SELECT count(*), sum(f.v) FROM facts f JOIN facts d ON f.k = d.k WHERE d.g < 3",
    "SELECT name, count(*) AS n FROM facts JOIN names ON facts.g = names.g GROUP BY name ORDER BY n DESC, name",
    "SELECT k, v FROM facts ORDER BY v DESC, k LIMIT 7",
    "SELECT count(DISTINCT v % 1000) FROM facts",
    "SELECT max(r) FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY k) AS r FROM facts) t",
)


def make_tables(context: sharkpy.SharkContext, rows: int = 100_000) -> None:
    numbers = f"(SELECT explode(sequence(1, {rows})) AS id) t"
    store = "TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY')"
    context.sql(f"CREATE TABLE facts {store} AS SELECT id AS k, id % 11 AS g, id * 7 % 100003 AS v FROM {numbers}")
    few = "(SELECT explode(sequence(0, 10)) AS id) t"
    context.sql(f"CREATE TABLE names {store} AS SELECT id AS g, concat('name ', id) AS name FROM {few}")

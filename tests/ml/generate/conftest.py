"""Sessions with small tables and functions of whole tables: one only in the driver, one whose stages are RDD tasks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sharkpy
from sharkpy.execution.engine import Engine
from sharkpy.udf.user.declare import Declared
from tests.ml.generate import relation_functions

TASKS = {
    "shark.placement.driver": False,
    "shark.block.rows": 3,
    "shark.task.single.max.bytes": 0,
    "shark.task.single.max.rows": 0,
    "shark.exchange.buckets": 3,
}
TABLES = {
    # Two clouds, and a line of y by x next to them: 2 x + 1.
    "points": "SELECT inline(array(struct(0D, 0D, 'low'), struct(0D, 2D, 'low'), struct(2D, 0D, 'low'), "
    "struct(20D, 20D, 'high'), struct(20D, 22D, 'high'), struct(22D, 20D, 'high'))) AS (x, y, kind)",
    "line": "SELECT CAST(x AS DOUBLE) AS x, 2D * x + 1 AS y FROM (SELECT explode(array(0, 1, 2, 3, 4, 5)) AS x) t",
    "classes": "SELECT inline(array(struct(0D, 'no'), struct(1D, 'no'), struct(2D, 'yes'), struct(3D, 'no'), "
    "struct(4D, 'yes'), struct(5D, 'yes'))) AS (x, y)",
    "edges": "SELECT inline(array(struct(1L, 2L), struct(2L, 1L), struct(3L, 1L))) AS (source, target)",
    "gaps": "SELECT inline(array(struct(1D, 1D), struct(NULL, 2D), struct(3D, 3D))) AS (x, y)",
    "texts": "SELECT 'a' AS s UNION ALL SELECT 'b'",
}
FUNCTIONS = {name: one for name, one in vars(relation_functions).items() if isinstance(one, Declared)}


def _with_tables(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    for name, query in TABLES.items():
        context.sql(f"CREATE TABLE {name} TBLPROPERTIES ('shark.cache'='MEMORY_ONLY') AS {query}").close()
    for name, function in FUNCTIONS.items():
        context.register_function(name, function)
    return context


@pytest.fixture(scope="package")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("generate")) as context:
        yield _with_tables(context)


@pytest.fixture(scope="package")
def tasks(shared_spark: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("generate"), **TASKS) as context:
        yield _with_tables(context)


@pytest.fixture(params=["driver", "tasks"])
def context(request: pytest.FixtureRequest) -> Iterator[sharkpy.SharkContext]:
    """Session of each kind, in the driver and as RDD tasks; tables that a test makes are dropped at its end."""
    session: sharkpy.SharkContext = request.getfixturevalue(request.param)
    yield session
    for (name,) in session.sql("SHOW TABLES").fetchall():
        if name not in TABLES:
            session.sql(f"DROP TABLE {name}").close()

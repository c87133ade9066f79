"""Sessions for tests of users' functions: one only in the driver, one whose stages are RDD tasks of few rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sharkpy
from sharkpy.execution.engine import Engine
from tests.functions import users_functions

NAMES = {
    "hypotenuse": users_functions.hypotenuse,
    "collatz": users_functions.collatz,
    "shown": users_functions.shown,
    "joined": users_functions.joined,
    "or_minus_one": users_functions.or_minus_one,
    "letters": users_functions.letters,
    "ticket": users_functions.ticket,
    "above_base": users_functions.above_base,
    "divided": users_functions.divided,
    "geometric_mean": users_functions.GeometricMean,
    "spread": users_functions.Spread,
    "tally": users_functions.Tally,
    "weighted_mean": users_functions.WeightedMean,
    "words": users_functions.words,
    "running_count": users_functions.RunningCount,
    "parts": users_functions.parts,
    "countdown": users_functions.countdown,
}
TASKS = {
    "shark.placement.driver": False,
    "shark.block.rows": 3,
    "shark.task.single.max.bytes": 0,
    "shark.task.single.max.rows": 0,
    "shark.exchange.buckets": 3,
}


def made(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    for name, function in NAMES.items():
        context.register_function(name, function)
    cached = "TBLPROPERTIES ('shark.cache'='MEMORY_ONLY')"
    context.sql(f"CREATE TABLE n {cached} AS SELECT explode(array(1, 2, 3, 4, 5, 6, 7, NULL)) AS id")
    context.sql(f"CREATE TABLE s {cached} AS SELECT explode(array('a b c', 'd', '', NULL)) AS line")
    return context


@pytest.fixture(scope="package")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("functions")) as context:
        yield made(context)


@pytest.fixture(scope="package")
def tasks(shared_spark: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("functions"), **TASKS) as context:
        yield made(context)


@pytest.fixture(params=["driver", "tasks"])
def context(request: pytest.FixtureRequest) -> sharkpy.SharkContext:
    """The same in the driver and as RDD tasks."""
    session: sharkpy.SharkContext = request.getfixturevalue(request.param)
    return session

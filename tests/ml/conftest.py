"""Sessions for tests of machine learning: one whose work stays in this process, one whose stages are RDD tasks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sharkpy
from sharkpy.execution.engine import Engine

TASKS = {
    "shark.placement.driver": False,
    "shark.block.rows": 1000,
    "shark.task.single.max.bytes": 0,
    "shark.task.single.max.rows": 0,
    "shark.jvm.memory": "512m",
    "shark.store.memory.limit": "256m",
}


@pytest.fixture(scope="package")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    settings = {"shark.block.rows": 1000, "shark.store.memory.limit": "256m"}
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("ml"), **settings) as context:
        yield context


@pytest.fixture(scope="package")
def tasks(shared_spark: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("ml"), **TASKS) as context:
        yield context


@pytest.fixture(params=["driver", pytest.param("tasks", marks=pytest.mark.spark)])
def context(request: pytest.FixtureRequest) -> sharkpy.SharkContext:
    """Session of each kind: every test runs in both."""
    found: sharkpy.SharkContext = request.getfixturevalue(request.param)
    return found

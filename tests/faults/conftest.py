"""Session on RDD tasks shared by all tests here, its seed, and the expected answers of its queries."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from tests.faults.workload import QUERIES, make_tables


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Seed from SHARKPY_FAULT_SEED, else a new one; printed with a failure, so that it can be replayed."""
    chosen = int(os.environ.get("SHARKPY_FAULT_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 30)
    print(f"replay with SHARKPY_FAULT_SEED={chosen} pytest {request.node.nodeid}")
    return chosen


@pytest.fixture(scope="session")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    """Session whose stages are all RDD jobs, in blocks small enough for several tasks."""
    folder: Path = tmp_path_factory.mktemp("faults")
    conf = {
        "shark.placement.driver": False,
        "shark.task.single.max.bytes": 0,
        "shark.task.single.max.rows": 0,
        "shark.join.replicate.max.rows": 0,
        "shark.jvm.memory": "512m",
        "shark.block.rows": 20_000,
        "shark.test.join": "shuffle",
        "shark.store.memory.limit": "256m",
        "shark.temp.dir": str(folder),
    }
    with sharkpy.connect("local[2]", folder / "warehouse", **conf) as made:
        make_tables(made)
        yield made


@pytest.fixture(scope="session")
def expected(context: sharkpy.SharkContext) -> dict[str, list[tuple[object, ...]]]:
    return {query: context.sql(query).fetchall() for query in QUERIES}

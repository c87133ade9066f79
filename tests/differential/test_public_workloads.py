"""Queries of public benchmarks give DuckDB's answers, over seeded tables of the benchmarks' shapes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.compare import difference
from bench.engines import BenchEngine, EngineOptions, make_engine
from bench.suites import SUITES

SCALE = 0.02


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BenchEngine, BenchEngine]]:
    folder: Path = tmp_path_factory.mktemp("clickbench")
    suite = SUITES["clickbench"]
    suite.make_data(folder, SCALE)
    made = [make_engine(name, EngineOptions(str(folder))) for name in ("sharkpy", "duckdb")]
    for engine in made:
        engine.start()
        for table in suite.tables:
            engine.load(table, folder / table)
    yield made[0], made[1]
    for engine in made:
        engine.stop()


@pytest.mark.parametrize(("name", "sql"), SUITES["clickbench"].queries().items())
def test_clickbench(engines: tuple[BenchEngine, BenchEngine], name: str, sql: str) -> None:
    ours, theirs = (engine.run(sql) for engine in engines)
    assert difference(ours, theirs) is None, name

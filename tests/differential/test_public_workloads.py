"""Queries of public benchmarks give DuckDB's answers, over seeded tables of the benchmarks' shapes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.compare import difference
from bench.engines import BenchEngine, EngineOptions, make_engine
from bench.suites import SUITES

SCALES = {"clickbench": 0.02, "h2o": 0.005, "ssb": 0.01}
QUERIES = [(suite, name, sql) for suite in SCALES for name, sql in SUITES[suite].queries().items()]


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BenchEngine, BenchEngine]]:
    folder: Path = tmp_path_factory.mktemp("workloads")
    made = [make_engine(name, EngineOptions(str(folder))) for name in ("sharkpy", "duckdb")]
    for name, scale in SCALES.items():
        SUITES[name].make_data(folder, scale)
    for engine in made:
        engine.start()
        for table in (table for suite in SCALES for table in SUITES[suite].tables):
            engine.load(table, folder / table)
    yield made[0], made[1]
    for engine in made:
        engine.stop()


@pytest.mark.parametrize(("suite", "name", "sql"), QUERIES, ids=[f"{suite}-{name}" for suite, name, _ in QUERIES])
def test_answers(engines: tuple[BenchEngine, BenchEngine], suite: str, name: str, sql: str) -> None:
    ours, theirs = (engine.run(sql) for engine in engines)
    assert difference(ours, theirs) is None, f"{suite} {name}"
    assert suite != "ssb" or ours.num_rows, "the star schema's data has rows for each query"

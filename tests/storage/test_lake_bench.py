"""The measurements of `bench lake` run, at a size that tells nothing of speed."""

from __future__ import annotations

import importlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.lake import NAMES, bucket, fetched, kills, loading, partitions, tpch
from bench.pde import Figure


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (bucket, kills, tpch, importlib.import_module("bench.lake.sides")):
        monkeypatch.setattr(module, "CACHE", tmp_path)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "lineitem"
    folder.mkdir(parents=True)
    count = 20_000
    columns = {name: pa.array(range(count), pa.int64()) for name in ("l_orderkey", "l_quantity")}
    table = pa.table({**columns, "l_comment": [f"comment {number}" for number in range(count)]})
    pq.write_table(table, folder / "part.parquet", compression="none", use_dictionary=False)
    return folder.parent


def values(figures: list[Figure]) -> dict[str, str]:
    return {one.what: one.value for one in figures}


def test_modules() -> None:
    for name in NAMES:
        module = importlib.import_module(f"bench.lake.{name}")
        assert module.__doc__
        assert callable(module.measure)


@pytest.mark.slow
def test_cold_queries_loading_and_bytes(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "SELECT sum(l_quantity) AS s FROM lineitem WHERE l_orderkey < 10000"
    with bucket.s3_bucket() as place:
        place.put_folders(data)
        assert place.num_objects("lineitem/") == 1
        found = values(tpch.measured(place, data, {"6": query}, 1, with_spark=False))
        assert found["answers that differ"] == "none"
        loaded = values(loading.measured(place, data, "lineitem", 1))
        assert list(loaded) == ["lineitem into memory, against local files"]
        monkeypatch.setattr(fetched, "COLUMNS", {"6": {"lineitem": ("l_orderkey", "l_quantity")}})
        (figure,) = fetched.measured(place, data, {"6": query})
        # The footer is much of so small a file.
        assert float(figure.value.partition(" times")[0]) < 1.5


def test_partitions() -> None:
    figures = partitions.measure(1, 0.002)
    assert values(figures)["lists for one partition"] == "1"
    assert len(figures) == 5


def test_kills(tmp_path: Path) -> None:
    figures = kills.killed(str(tmp_path / "t"), {}, 2)
    assert all(one.met in (True, None) for one in figures)
    assert len(figures) == 3

"""The measurements of `bench lake` run, at a size that tells nothing of speed."""

from __future__ import annotations

import importlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.figure import Figure
from bench.lake import NAMES, bucket, fetched, iceberg, kills, loading, partitions, tpch


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (bucket, iceberg, kills, tpch, importlib.import_module("bench.lake.sides")):
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


def test_columns_that_a_query_names() -> None:
    assert fetched.named("select SUM(l_quantity) from lineitem l where l.l_tax<1") >= {"l_quantity", "l_tax"}
    assert "l_tax" not in fetched.named("select l_taxes, xl_tax from t")


@pytest.mark.slow
def test_cold_queries_loading_and_bytes(data: Path) -> None:
    query = "SELECT sum(l_quantity) AS s FROM lineitem WHERE l_orderkey < 10000"
    with bucket.s3_bucket() as place:
        place.put_folders(data)
        assert place.num_objects("lineitem/") == 1
        found = values(tpch.measured(place, data, {"6": query}, 1, None))
        assert found["answers that differ"] == "none"
        assert len(found) == 3
        loaded = values(loading.measured(place, data, "lineitem", 1))
        assert list(loaded) == ["lineitem of a bucket into memory"]
        figure, _, whole = fetched.measured(place, data, {"6": query})
        # The footer is much of so small a file.
        assert figure.ours is not None
        assert 1 < figure.ours / figure.peers["column chunks needed"] < 1.5
        assert (whole.ours, whole.peers) == (figure.ours, figure.peers)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_spark_reads_the_bucket(data: Path) -> None:
    """Its jars come once for a machine, and take long."""
    query = "SELECT sum(l_quantity) AS s FROM lineitem WHERE l_orderkey < 10000"
    with bucket.s3_bucket() as place:
        place.put_folders(data)
        found = values(tpch.measured(place, data, {"6": query}, 1, tpch.s3a_jars()))
        assert found["answers that differ"] == "none"
        assert "Spark SQL with s3a" in found["1 cold queries over a bucket, sum"]


@pytest.mark.slow
def test_partitions() -> None:
    figures = partitions.measure(1, 0.002)
    assert values(figures)["lists for one partition"] == "1, 1 of them of its folder"
    assert len(figures) == 5


@pytest.mark.slow
def test_kills() -> None:
    figures = kills.measure(1, 0.004)
    assert all(one.met in (True, None) for one in figures)
    assert len(figures) == 4


@pytest.mark.slow
def test_iceberg() -> None:
    figures = iceberg.measure(1, 0.001)
    assert len(figures) == 2 + len(iceberg.SCANS)

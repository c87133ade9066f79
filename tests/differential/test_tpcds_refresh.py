"""TPC-DS's data maintenance functions leave the rows that DuckDB has after them, and its queries give the same."""

from __future__ import annotations

import importlib
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench.refresh import NAMES
from bench.refresh.maintenance import TOUCHED, RefreshedTables
from bench.suites import SUITES

SCALE = 0.01


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("tpcds")
    SUITES["tpcds"].make_data(folder, SCALE)
    return folder


def test_functions_and_queries(data: Path, tmp_path: Path) -> None:
    with RefreshedTables(data, tmp_path, "STORED AS PARQUET") as tables:
        tables.refresh(SCALE, 1)
        assert tables.differences() == []
        assert tables.query_differences() == []
        for table in TOUCHED:
            rows = tables.ours(f"SELECT count(*) FROM {table}").column(0)[0].as_py()
            assert rows != pq.read_table(data / table, columns=[]).num_rows
        tables.ours("DELETE FROM inventory WHERE inv_item_sk = 1 AND inv_warehouse_sk = 1")
        tables.ours("UPDATE web_returns SET wr_fee = wr_fee + 0.01 WHERE wr_item_sk < 500")
        assert tables.differences() == ["web_returns", "inventory"]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", NAMES)
def test_two_refreshes(data: Path, tmp_path: Path, kind: str) -> None:
    if kind == "delta":
        pytest.importorskip("deltalake", reason="the extra delta is not installed")
    tables = importlib.import_module(f"bench.refresh.{kind}")
    with RefreshedTables(data, tmp_path, tables.CLAUSE, in_memory=kind == "memory") as refreshed:
        for seed in (1, 2):
            refreshed.refresh(SCALE, seed)
        assert refreshed.differences() == []
        assert refreshed.query_differences() == []

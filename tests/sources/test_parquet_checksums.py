"""Damaged pages of Parquet files that sharkpy wrote are an error when a table is loaded, not other values."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SourceError


def test_damaged_pages_are_noticed(tmp_path: Path) -> None:
    with sharkpy.connect("local[1]", tmp_path / "warehouse") as context:
        context.sql("CREATE TABLE t AS SELECT i, i * 7 AS j FROM (SELECT explode(sequence(1, 20000)) AS i) s")
        for file in (tmp_path / "warehouse" / "t").rglob("*.parquet"):
            data = bytearray(file.read_bytes())
            for place in range(len(data) // 3, len(data) // 3 + 16):
                data[place] ^= 0xFF
            file.write_bytes(data)
        with pytest.raises(SourceError, match="not a readable Parquet file"):
            context.sql("CACHE TABLE t")

"""Ranges of the parts of Parquet files: all of a column's, whatever its name is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sharkpy.sources.parquet_ranges import chunk_ranges


@pytest.mark.parametrize(
    ("names", "count"), [({"a.b"}, 1), ({"a"}, 3), ({"c.d"}, 2), ({"x"}, 0), ({"a", "a.b", "c.d"}, 5)]
)
def test_names_may_have_dots(tmp_path: Path, names: set[str], count: int) -> None:
    part = {"x": 1, "y": 2}
    pq.write_table(pa.table({"a.b": [1], "a": [part], "c.d": [part]}), tmp_path / "f.parquet")
    assert len(chunk_ranges(pq.read_metadata(tmp_path / "f.parquet"), 0, names)) == count

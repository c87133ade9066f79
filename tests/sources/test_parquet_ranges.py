"""Ranges of the parts of Parquet files: all of a column's, whatever its name is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sharkpy.sources.layout import list_data_files
from sharkpy.sources.open_files import local_copy
from sharkpy.sources.parquet_footer import parquet_footer


@pytest.mark.parametrize(
    ("names", "count"), [({"a.b"}, 1), ({"a"}, 3), ({"c.d"}, 2), ({"x"}, 0), ({"a", "a.b", "c.d"}, 5)]
)
def test_names_may_have_dots(tmp_path: Path, names: set[str], count: int) -> None:
    part = {"x": 1, "y": 2}
    pq.write_table(pa.table({"a.b": [1], "a": [part], "c.d": [part]}), tmp_path / "f.parquet")
    (file,) = list_data_files(str(tmp_path / "f.parquet"))
    assert len(parquet_footer(file, local_copy(file)).ranges(0, names)) == count

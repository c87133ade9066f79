"""Statistics of row groups: they bound all values, so that nothing is left out that a predicate may want."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sharkpy.columnar.pruning import Compare, IsNull, prune
from sharkpy.sources.formats import source
from sharkpy.sources.layout import list_data_files
from sharkpy.sources.parquet_footer import row_group_statistics
from sharkpy.sources.source import Split
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, arrow_schema
from tests.sources.test_round_trip import VALUES

FLAT = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary"),
    *("decimal(12,3)", "decimal(38,10)", "date", "timestamp"),
)
GROUP = 3


def split_of(path: Path, schema: Schema) -> Split:
    (split,) = source("parquet").splits(list_data_files(str(path)), schema, (), 1 << 30)
    return split


@pytest.mark.variants(3)
@pytest.mark.parametrize("type_name", FLAT)
def test_they_bound_all_values(type_name: str) -> None:
    dtype = parse_type(type_name)
    schema = Schema((Field("v", dtype),))
    one_value = VALUES[type_name] | (st.just(float("nan")) if type_name in ("float", "double") else st.nothing())

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.none() | one_value, min_size=1, max_size=10))
    def check(values: list[Any]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x"
            pq.write_table(pa.table({"v": values}, arrow_schema(schema)), path, row_group_size=GROUP)
            split = split_of(path, schema)
            assert split.plain is not None
            known, statistics = row_group_statistics(split, schema)
        groups = [values[start : start + GROUP] for start in range(0, len(values), GROUP)]
        assert statistics.rows.tolist() == list(map(len, groups))
        if not len(known):
            return
        column = statistics.columns["v"]
        assert column.null_counts.tolist() == [group.count(None) for group in groups]
        for value in filter(lambda value: value is not None, values):
            if isinstance(value, float) and math.isnan(value):
                continue
            mask = prune(statistics, Compare("v", "=", value))
            assert all(mask[number] for number, group in enumerate(groups) if value in group)
        nulls = prune(statistics, IsNull("v"))
        assert [bool(one) for one in nulls] == [None in group for group in groups]

    check()


def test_statistics_leave_groups_out(tmp_path: Path) -> None:
    schema = Schema((Field("a", parse_type("int")), Field("b", parse_type("string"))))
    table = pa.table({"a": list(range(9)), "b": [f"{number}" for number in range(9)]}, arrow_schema(schema))
    pq.write_table(table, tmp_path / "x", row_group_size=GROUP)
    _, statistics = row_group_statistics(split_of(tmp_path / "x", schema), schema)
    assert prune(statistics, Compare("a", ">", 5)).tolist() == [False, False, True]
    assert prune(statistics, Compare("b", "=", "4")).tolist() == [False, True, False]


def test_files_without_statistics(tmp_path: Path) -> None:
    schema = Schema((Field("a", parse_type("int")),))
    pq.write_table(pa.table({"a": [1]}, arrow_schema(schema)), tmp_path / "x", write_statistics=False)
    known, statistics = row_group_statistics(split_of(tmp_path / "x", schema), schema)
    assert (known.names, len(statistics)) == ((), 1)

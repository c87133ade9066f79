"""Statistics of stripes: they bound all values, so that nothing is left out that a predicate may want."""

from __future__ import annotations

import datetime
import math
import random
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sharkpy.columnar.pruning import Compare, IsNull, prune
from sharkpy.sources.formats import source
from sharkpy.sources.layout import list_data_files
from sharkpy.sources.orc_statistics import stripe_statistics
from sharkpy.sources.source import Split
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, arrow_schema
from tests.sources.test_round_trip import VALUES

FLAT = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary"),
    *("decimal(12,3)", "decimal(38,10)", "date", "timestamp"),
)
BOUNDED = tuple(name for name in FLAT if name not in ("boolean", "binary"))


def schema_of(**columns: str) -> Schema:
    return Schema(tuple(Field(name, parse_type(dtype)) for name, dtype in columns.items()))


def split_of(path: Path, schema: Schema) -> Split:
    (split,) = source("orc").splits(list_data_files(str(path)), schema, (), 1 << 30)
    return split


@pytest.mark.variants(3)
@pytest.mark.parametrize("type_name", FLAT)
def test_they_bound_all_values(type_name: str) -> None:
    schema = schema_of(v=type_name)
    one_value = VALUES[type_name] | (st.just(float("nan")) if type_name in ("float", "double") else st.nothing())

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.none() | one_value, min_size=1, max_size=10))
    def check(values: list[Any]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x"
            batch = pa.record_batch({"v": values}, arrow_schema(schema))
            source("orc").write([batch], schema, (), str(path))
            known, statistics = stripe_statistics(split_of(path, schema), schema)
        assert statistics.rows.tolist() == [len(values)]
        assert known.names == ("v",)
        column = statistics.columns["v"]
        assert column.null_counts.tolist() == [values.count(None)]
        for value in filter(lambda value: value is not None, values):
            if not (isinstance(value, float) and math.isnan(value)):
                assert prune(statistics, Compare("v", "=", value)).tolist() == [True]
        assert prune(statistics, IsNull("v")).tolist() == [None in values]

    check()


@pytest.fixture
def stripes(tmp_path: Path) -> Path:
    """A file of several stripes, whose values grow from one to the next."""
    chosen, count = random.Random(1), 300_000
    day = datetime.date(2020, 1, 1)
    columns = {
        "i": pa.array(range(count), pa.int32()),
        "s": pa.array([f"{number:08d}" for number in range(count)]),
        "d": pa.array([number / 4 for number in range(count)]),
        "t": pa.array([datetime.datetime(2020, 1, 1) + datetime.timedelta(minutes=n) for n in range(count)]),
        "day": pa.array([day + datetime.timedelta(days=number // 100) for number in range(count)]),
        "n": pa.array(range(count), pa.int64()).cast(pa.decimal128(20, 0)).cast(pa.decimal128(22, 2)),
        "noise": pa.array([chosen.random() for _ in range(count)]),
    }
    path = tmp_path / "x.orc"
    pyarrow.orc.write_table(pa.table(columns), path, stripe_size=1 << 20, compression="zstd")
    return path


def test_they_leave_stripes_out(stripes: Path) -> None:
    schema = schema_of(i="bigint", s="string", d="double", t="timestamp", day="date", n="decimal(22,2)")
    split = split_of(stripes, schema)
    known, statistics = stripe_statistics(split, schema)
    assert known.names == schema.names
    assert len(statistics) == split.length > 2
    assert statistics.rows.sum() == 300_000
    for name, value in (
        ("i", 150_000),
        ("s", "00150000"),
        ("t", datetime.datetime(2020, 1, 1) + datetime.timedelta(minutes=150_000)),
        ("day", datetime.date(2020, 1, 1) + datetime.timedelta(days=1500)),
        ("n", 150_000),
    ):
        kept = prune(statistics, Compare(name, "=", value)).tolist()
        assert 1 <= sum(kept) < len(kept), name


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("name", "type_name"),
    [("i", "smallint"), ("i", "string"), ("s", "varchar(8)"), ("s", "int"), ("d", "float"), ("n", "decimal(22,3)")],
)
def test_values_of_other_types_have_none(stripes: Path, name: str, type_name: str) -> None:
    schema = schema_of(**{name: type_name, "noise": "double"})
    known, _ = stripe_statistics(split_of(stripes, schema), schema)
    assert known.names == ("noise",)


def test_columns_by_their_place_have_none(tmp_path: Path) -> None:
    pyarrow.orc.write_table(pa.table({"_col0": [1, 2], "_col1": [3, 4]}), tmp_path / "x")
    schema = schema_of(a="bigint", _col0="bigint")
    known, statistics = stripe_statistics(split_of(tmp_path / "x", schema), schema)
    assert (known.names, statistics.rows.tolist()) == ((), [2])

"""Encodings of Parquet files follow the values, and every reader gives these as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sharkpy
from sharkpy.base.errors import ConfigurationError
from sharkpy.sources.parquet import ParquetSource
from sharkpy.sources.parquet_encodings import choose_encodings
from sharkpy.values import types as t

_FAR = [7, 1 << 40, -(1 << 50)]
_COLUMNS: dict[str, tuple[list[Any], pa.DataType, str]] = {
    "ids": (list(range(1000)), pa.int64(), "DELTA_BINARY_PACKED"),
    "days": ([n % 400 for n in range(1000)], pa.date32(), "DELTA_BINARY_PACKED"),
    "times": ([n * 997 for n in range(1000)], pa.timestamp("us"), "DELTA_BINARY_PACKED"),
    "nothing": ([None] * 1000, pa.int32(), "DELTA_BINARY_PACKED"),
    "few_far_ones": ([_FAR[n % 3] for n in range(1000)], pa.int64(), "RLE_DICTIONARY"),
    "hashes": ([n * 0x9E3779B97F4A7C15 % (1 << 63) for n in range(1000)], pa.int64(), "PLAIN"),
    "words": ([f"word {n % 9}" for n in range(1000)], pa.string(), "RLE_DICTIONARY"),
    "texts": ([f"text {n}" for n in range(1000)], pa.string(), "RLE_DICTIONARY"),
    "bytes": ([b"%d" % n for n in range(1000)], pa.binary(), "RLE_DICTIONARY"),
    "prices": ([n % 50 / 4 for n in range(1000)], pa.float64(), "RLE_DICTIONARY"),
    "measures": ([n / 7 for n in range(1000)], pa.float64(), "PLAIN"),
    "lists": ([[n, n] for n in range(1000)], pa.list_(pa.int32()), "RLE_DICTIONARY"),
    "maps": ([[("k", n)] for n in range(1000)], pa.map_(pa.string(), pa.int32()), "RLE_DICTIONARY"),
    "structs": (
        [{"a": [{"b": "x"}]}] * 1000,
        pa.struct({"a": pa.list_(pa.struct({"b": pa.string()}))}),
        "RLE_DICTIONARY",
    ),
}


def _encodings(path: Path) -> dict[str, str]:
    """The encoding of the values of each leaf, by the name of its column."""
    group = pq.read_metadata(path).row_group(0)
    leaves = [group.column(index) for index in range(group.num_columns)]
    return {leaf.path_in_schema.split(".")[0]: _of_values(leaf.encodings) for leaf in leaves}


def _of_values(encodings: tuple[str, ...]) -> str:
    found = set(encodings) - {"RLE"}
    return "RLE_DICTIONARY" if "RLE_DICTIONARY" in found else found.pop()


@pytest.mark.parametrize("has_deltas", [True, False])
def test_encodings_follow_the_values(has_deltas: bool, tmp_path: Path) -> None:
    table = pa.table({name: pa.array(values, dtype) for name, (values, dtype, _) in _COLUMNS.items()})
    chosen = choose_encodings(table, has_deltas=has_deltas)
    path = tmp_path / "a.parquet"
    dictionaries, others = list(chosen.dictionaries), dict(chosen.encodings)
    pq.write_table(table, path, use_dictionary=dictionaries, column_encoding=others or None)
    wanted = {name: encoding for name, (_, _, encoding) in _COLUMNS.items()}
    found = _encodings(path)
    if has_deltas:
        assert found == wanted
    else:
        assert "DELTA_BINARY_PACKED" not in found.values()
        assert found["days"] == found["few_far_ones"] == "RLE_DICTIONARY"
        assert found["ids"] == "PLAIN"
    assert pq.read_table(path).equals(table)


_HEADS = st.lists(st.integers(0, 50), min_size=30, max_size=40)


@pytest.mark.variants(2)
@pytest.mark.parametrize("dtype", [t.INT, t.BIGINT])
@given(head=_HEADS, repeated=st.sampled_from([1, 400]), data=st.data())
def test_numbers_that_the_sample_did_not_tell_of(
    tmp_path_factory: pytest.TempPathFactory, dtype: t.DataType, head: list[int], repeated: int, data: st.DataObject
) -> None:
    """Among many rows, the other values are between two stretches of the sample."""
    most = (1 << (63 if dtype == t.BIGINT else 31)) - 1
    others = data.draw(st.lists(st.one_of(st.none(), st.integers(-most - 1, most)), max_size=300))
    values = [*(head * repeated)]
    values[300:300] = others
    schema = t.Schema((t.Field("n", dtype),))
    batches = [pa.RecordBatch.from_pydict({"n": pa.array(values, t.to_arrow(dtype))})]
    path = str(tmp_path_factory.mktemp("numbers") / "a.parquet")
    assert ParquetSource().write(batches, schema, (), path) == len(values)
    assert pq.read_table(path)["n"].to_pylist() == values
    with duckdb.connect() as connection:
        assert [n for (n,) in connection.execute(f"SELECT n FROM read_parquet('{path}')").fetchall()] == values


def test_the_version_of_the_writer_is_a_property_of_the_table(tmp_path: Path) -> None:
    with sharkpy.connect("local[1]", tmp_path / "w") as context:
        for name, properties in (("new", ""), ("old", "TBLPROPERTIES ('parquet.writer.version' = 'v1')")):
            rows = "SELECT i FROM (SELECT explode(sequence(1, 5000)) AS i) s"
            context.sql(f"CREATE TABLE {name} STORED AS PARQUET {properties} AS {rows}").close()
            assert context.sql(f"SELECT count(*), sum(i) FROM {name}").fetchall() == [(5000, 12502500)]
        encodings = {name: _encodings(next((tmp_path / "w" / name).rglob("*.parquet"))) for name in ("new", "old")}
        assert encodings == {"new": {"i": "DELTA_BINARY_PACKED"}, "old": {"i": "PLAIN"}}
        shown = "".join(row[0] for row in context.sql("SHOW CREATE TABLE old").fetchall())
        assert "'parquet.writer.version'" in shown
        with pytest.raises(ConfigurationError, match='"v3" is not a version of the Parquet writer') as caught:
            context.sql("CREATE TABLE t (i INT) STORED AS PARQUET TBLPROPERTIES ('parquet.writer.version' = 'v3')")
        assert caught.value.sqlstate == "22023"

"""Scans by DuckDB of columns from blocks: dictionaries, narrow codes, nulls, all without conversion."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from sharkpy.columnar.block import Block, encode_block
from sharkpy.columnar.encoded_column import DictionaryForm, NarrowForm
from sharkpy.values import types as t
from tests.columnar.columns import TYPES, column

SCHEMA = t.Schema((t.Field("k", t.BIGINT), t.Field("s", t.STRING), t.Field("d", t.DATE)))


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def small_block() -> Block:
    rows = range(3000)
    table = pa.table(
        {
            "k": pa.array([None if i % 10 == 0 else 1000 + 7 * (i % 500) for i in rows], pa.int64()),
            "s": pa.array([None if i % 3 == 0 else f"name {i % 4}" for i in rows]),
            "d": pa.array([i % 900 for i in rows], pa.int32()).cast(pa.date32()),
        }
    )
    return Block.from_buffer(encode_block(table, SCHEMA).content)


def test_scan_forms_in_sql(connection: duckdb.DuckDBPyConnection) -> None:
    block = small_block()
    forms = block.scan_forms(SCHEMA.names)
    key = forms["k"]
    assert isinstance(key, NarrowForm)
    assert isinstance(forms["s"], DictionaryForm)
    connection.register("narrow", pa.table({"k": key.array, "s": forms["s"].array}))
    connection.register("whole", block.read(SCHEMA.names, decoded=True))
    query = "SELECT s, sum({}), count(*), count(k) FROM {} GROUP BY s ORDER BY s"
    decoded = f"{key.base} + {key.factor} * k::BIGINT"
    narrow = connection.sql(query.format(decoded, "narrow")).fetchall()
    assert narrow == connection.sql(query.format("k", "whole")).fetchall()


def test_strings_in_runs_are_scanned_as_codes(connection: duckdb.DuckDBPyConnection) -> None:
    texts = [None if index % 1000 == 7 else f"day {index // 500 % 12}" for index in range(30_000)]
    given = pa.table({"s": pa.array(texts)})
    encoded = encode_block(given, t.Schema((t.Field("s", t.STRING),)), force_encoding="run_length")
    block = Block.from_buffer(encoded.content)
    form = block.scan_form("s")
    assert isinstance(form, DictionaryForm)
    assert form.array.type.index_type == pa.uint8()
    dictionary = form.array.dictionary.to_pylist()
    assert sorted(filter(None, dictionary)) == sorted(f"day {number}" for number in range(12))
    connection.register("given", given)
    connection.register("stored", block.read(["s"]))
    query = "SELECT s, count(*) FROM {} WHERE s IS NULL OR s > 'day 3' GROUP BY s ORDER BY s"
    assert connection.sql(query.format("stored")).fetchall() == connection.sql(query.format("given")).fetchall()


@pytest.mark.parametrize("dtype", [dtype for dtype in TYPES if dtype != t.NULL], ids=str)
def test_every_type_reaches_duckdb(connection: duckdb.DuckDBPyConnection, dtype: t.DataType) -> None:
    schema = t.Schema((t.Field("x", dtype),))
    given = pa.table({"x": column(dtype, 300, "some", "few", 2)})
    block = Block.from_buffer(encode_block(given, schema).content)
    connection.register("given", given)
    connection.register("stored", block.read(["x"]))
    query = "SELECT x::VARCHAR, count(*) FROM {} GROUP BY ALL ORDER BY ALL"
    assert connection.sql(query.format("stored")).fetchall() == connection.sql(query.format("given")).fetchall()


def test_blocks_with_different_dictionaries_make_one_table(connection: duckdb.DuckDBPyConnection) -> None:
    tables = []
    for names in (["a", "b"], ["b", "c"], ["c", "c"]):
        schema = t.Schema((t.Field("s", t.STRING),))
        tables.append(Block.from_buffer(encode_block(pa.table({"s": names * 50}), schema).content).read(["s"]))
    assert all(isinstance(table.column(0).type, pa.DictionaryType) for table in tables)
    connection.register("joined", pa.concat_tables(tables))
    assert connection.sql("SELECT s, count(*) FROM joined GROUP BY s ORDER BY s").fetchall() == [
        ("a", 50),
        ("b", 100),
        ("c", 150),
    ]

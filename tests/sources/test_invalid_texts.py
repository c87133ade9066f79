"""Bytes that are not UTF-8 in texts of foreign files and functions: U+FFFD, and no failure inside DuckDB."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import sharkpy
from sharkpy.base.errors import SourceError
from sharkpy.execution.tasks import parquet_scan
from sharkpy.values import utf8
from sharkpy.values.utf8 import valid_array, valid_batch, valid_column

RAW = [b"caf\xe9", None, b"ok \xc3\xa9", b"\xff\xfe"]
TEXTS = ["caf\ufffd", None, "ok é", "\ufffd\ufffd"]
UPPER = ["CAF\ufffd", None, "OK É", "\ufffd\ufffd"]


@pytest.fixture(autouse=True)
def _unknown_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_scan, "_invalid_texts", {})


def texts(raw: list[bytes | None] = RAW, dtype: Any = None) -> Any:
    """Text that its writer has not looked at."""
    return pa.array(raw, pa.binary()).view(pa.string()).cast(dtype or pa.string())


def nested() -> pa.Table:
    keys, offsets = texts([b"k\xe9", b"a", b"b", b"c"]), pa.array([0, 1, 2, 3, 4], pa.int32())
    lists: Any = pa.ListArray.from_arrays(offsets, texts())
    maps: Any = pa.MapArray.from_arrays(offsets, keys, lists)
    structs: Any = pa.StructArray.from_arrays([maps], ["m"])
    return pa.table({"s": texts(), "a": lists, "r": structs})


def write(table: pa.Table, path: Path) -> None:
    if path.suffix == ".orc":
        pa.orc.write_table(table, str(path))
    else:
        pq.write_table(table, path, use_dictionary="plain" not in path.name)


@pytest.mark.parametrize("name", ["flat.parquet", "plain.parquet", "flat.orc"])
def test_texts_of_files(context: sharkpy.SharkContext, tmp_path: Path, name: str) -> None:
    write(pa.table({"i": range(4), "s": texts()}), tmp_path / name)
    rows = context.sql(f"SELECT s, upper(s), count(*) FROM '{tmp_path}/{name}' GROUP BY i, s ORDER BY i").fetchall()
    assert rows == [(one, upper, 1) for one, upper in zip(TEXTS, UPPER, strict=True)]
    assert context.sql(f"SELECT i FROM '{tmp_path}/{name}' WHERE s = 'caf\ufffd'").fetchall() == [(0,)]


@pytest.mark.parametrize("name", ["nested.parquet", "nested.orc"])
def test_texts_at_any_depth(context: sharkpy.SharkContext, tmp_path: Path, name: str) -> None:
    write(nested(), tmp_path / name)
    found = context.sql(f"SELECT upper(a[0]), a, r.m, map_keys(r.m)[0] FROM '{tmp_path}/{name}'").fetchall()
    keys = ["k\ufffd", "a", "b", "c"]
    assert found == [(upper, [one], {key: [one]}, key) for upper, one, key in zip(UPPER, TEXTS, keys, strict=True)]


def test_a_bad_text_after_rows_were_given(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    count = 400_000
    raw: list[bytes | None] = [b"v%d" % number for number in range(count)]
    raw[-2] = b"v\xff"
    pq.write_table(pa.table({"i": range(count), "s": texts(raw)}), tmp_path / "f.parquet", row_group_size=50_000)
    found = context.sql(f"SELECT i, s FROM '{tmp_path}/f.parquet' WHERE i % 3 <> 1").to_arrow()
    assert found["i"].to_pylist() == [number for number in range(count) if number % 3 != 1]
    assert found["s"].to_pylist()[-2:] == ["v\ufffd", f"v{count - 1}"]
    assert str(tmp_path / "f.parquet") in parquet_scan._invalid_texts


@pytest.mark.usefixtures("shared_spark")
def test_tasks_of_workers_and_cached_tables(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    for number in range(3):
        write(pa.table({"s": texts()}), tmp_path / f"{number}.parquet")
    with context.new_session(shark_placement_driver=False) as session:
        query = f"SELECT upper(s), count(*) FROM '{tmp_path}/*.parquet' GROUP BY 1"
        assert sorted(session.sql(query).fetchall(), key=str) == sorted(((one, 3) for one in UPPER), key=str)
        session.sql(f"CREATE EXTERNAL TABLE invalid (s STRING) STORED AS PARQUET LOCATION '{tmp_path}'")
        session.sql("CACHE TABLE invalid")
        assert session.sql("SELECT count(*) FROM invalid WHERE lower(s) = 'caf\ufffd'").fetchall() == [(3,)]


@pytest.mark.parametrize(
    ("dtype", "select", "answer"),
    [
        ("VARCHAR(5)", "upper(s)", UPPER),
        ("INT", "s", [None] * 4),
        ("BINARY", "hex(s)", ["636166E9", None, "6F6B20C3A9", "FFFE"]),
    ],
)
def test_texts_of_another_declared_type(
    context: sharkpy.SharkContext, tmp_path: Path, dtype: str, select: str, answer: list[str | None]
) -> None:
    write(pa.table({"s": texts()}), tmp_path / "f.parquet")
    name = f"declared_{dtype.partition('(')[0]}"
    context.sql(f"CREATE EXTERNAL TABLE {name} (s {dtype}) STORED AS PARQUET LOCATION '{tmp_path}'")
    assert context.sql(f"SELECT {select} FROM {name}").fetchall() == [(one,) for one in answer]


def test_bytes_declared_as_text(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    columns = {"u": pa.array([b"\xf0123"], pa.binary(4)), "b": pa.array([b"a\xff"], pa.large_binary())}
    pq.write_table(pa.table(columns), tmp_path / "f.parquet")
    context.sql(f"CREATE EXTERNAL TABLE bytes_as_text (u STRING, b STRING) STORED AS PARQUET LOCATION '{tmp_path}'")
    assert context.sql("SELECT lower(u), upper(b), length(b) FROM bytes_as_text").fetchall() == [
        ("\ufffd123", "A\ufffd", 2)
    ]


@pytest.mark.parametrize("num_rows", [1, 3000])
def test_json(context: sharkpy.SharkContext, tmp_path: Path, num_rows: int) -> None:
    (tmp_path / "f.jsonl").write_bytes(b'{"s": "caf\xe9", "a": ["\xff"]}\n' * num_rows)
    rows = context.sql(f"SELECT upper(s), s, upper(a[0]) FROM '{tmp_path}/f.jsonl'").fetchall()
    assert rows == [("CAF\ufffd", "caf\ufffd", "\ufffd")] * num_rows


def test_avro(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    fields = [{"name": "s", "type": "string"}, {"name": "m", "type": {"type": "map", "values": "string"}}]
    out = io.BytesIO()
    fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, [{"s": "cafX", "m": {"Xk": "v"}}])
    (tmp_path / "f.avro").write_bytes(out.getvalue().replace(b"X", b"\xe9"))
    rows = context.sql(f"SELECT upper(s), m FROM '{tmp_path}/f.avro'").fetchall()
    assert rows == [("CAF\ufffd", {"\ufffdk": "v"})]


@pytest.mark.parametrize("name", ["rcfile", "sequencefile", "textfile"])
def test_rows_of_hadoop_files(context: sharkpy.SharkContext, tmp_path: Path, name: str) -> None:
    place = f"LOCATION '{tmp_path}/texts'"
    context.sql(f"CREATE EXTERNAL TABLE {name}_texts (s STRING, a ARRAY<STRING>) STORED AS {name} {place}")
    context.sql(f"INSERT INTO {name}_texts VALUES ('cafXQZ', array('cafXQZ'))")
    (place,) = context.sql(f"SELECT input__file__name FROM {name}_texts").fetchall()[0]
    path = Path(place.removeprefix("file:").removeprefix("//"))
    path.write_bytes(path.read_bytes().replace(b"cafXQZ", b"caf\xe9QZ"))
    os.utime(path, ns=(1, 1))
    assert context.sql(f"SELECT upper(s), upper(a[0]) FROM {name}_texts").fetchall() == [("CAF\ufffdQZ",) * 2]


def test_names_of_partitions(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    for name in ("p=caf%E9", "p=ok"):
        (tmp_path / "in" / name).mkdir(parents=True)
        pq.write_table(pa.table({"i": [1]}), tmp_path / "in" / name / "f.parquet")
    rows = context.sql(f"SELECT upper(p) FROM '{tmp_path}/in' ORDER BY p").fetchall()
    assert rows == [("CAF\ufffd",), ("OK",)]


def test_names_that_no_text_has(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/in/p=\xff"
    os.makedirs(folder)
    pq.write_table(pa.table({"i": [1]}), tmp_path / "f.parquet")
    (tmp_path / "f.parquet").rename(os.fsdecode(folder + b"/f.parquet"))
    with pytest.raises(SourceError, match='p=\ufffd" is not UTF-8'):
        context.sql(f"SELECT * FROM '{tmp_path}/in'")
    with pytest.raises(SourceError, match="is not UTF-8"):
        context.sql(f"SELECT * FROM '{tmp_path}/in/*/*.parquet'")


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("CAST(unhex('63FF') AS STRING)", "c\ufffd"),
        ("upper(CAST(unhex('63FF') AS STRING))", "C\ufffd"),
        ("decode(unhex('FF61'), 'UTF-8')", "\ufffda"),
        ("to_char(unhex('FF61'), 'utf-8')", "\ufffda"),
        ("reverse(concat(CAST(unhex('E9') AS STRING), '?'))", "?\ufffd"),
        ("CAST(unhex('3F') AS STRING)", "?"),
        ("upper('a\ud800b')", "A?B"),
        ("""upper(get_json_object('{"a": "\\\\ud800x"}', '$.a'))""", "?X"),
    ],
)
def test_results_of_functions(context: sharkpy.SharkContext, expression: str, answer: str) -> None:
    assert context.sql(f"SELECT {expression}").fetchall() == [(answer,)]
    columns = "VALUES (1) AS t(one)"
    assert context.sql(f"SELECT {expression} FROM {columns} WHERE one = 1").fetchall() == [(answer,)]


def test_functions_of_users(context: sharkpy.SharkContext) -> None:
    @sharkpy.function("string", returns="string", form="arrow")
    def raw_text(column: Any) -> Any:
        return texts([b"caf\xe9"] * len(column))

    context.register_function("raw_text", raw_text)
    assert context.sql("SELECT upper(raw_text(s)) FROM VALUES ('a') AS t(s)").fetchall() == [("CAF\ufffd",)]


def test_scripts(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    script = tmp_path / "script.sh"
    script.write_bytes(b"#!/bin/sh\ncat > /dev/null\necho caf\xe9\n")
    script.chmod(0o755)
    query = f"SELECT TRANSFORM (1) USING '{script}' AS (s STRING)"
    assert context.sql(f"SELECT upper(s) FROM ({query}) t").fetchall() == [("CAF\ufffd",)]


@pytest.mark.parametrize("dtype", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_arrays_of_all_kinds_of_texts(dtype: pa.DataType) -> None:
    raw: Any = pa.array(RAW, pa.large_binary()).view(pa.large_string())
    if dtype == pa.string_view():
        raw = pa.array(RAW, pa.binary_view()).view(pa.string_view())
    elif pa.types.is_dictionary(dtype):
        raw = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3]), texts())
    assert valid_array(raw).to_pylist() == TEXTS
    assert valid_array(raw.slice(2, 2)).to_pylist() == TEXTS[2:]
    assert valid_array(raw.slice(1, 2)).type == raw.type


def test_texts_of_ascii_are_not_validated_value_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    column = pa.chunked_array([["a", None, "plain"], pa.array(["é", "b", "c"]).slice(1), pa.array([], pa.string())])
    monkeypatch.setattr(utf8, "valid_array", None)
    assert valid_column(column) is column
    with pytest.raises(TypeError):
        valid_column(pa.chunked_array([texts(), column.chunk(0)]))


@pytest.mark.parametrize("ends", [[0, 5, 2], [0, 2, 1], [3, 6, 4]])
def test_texts_with_falling_offsets_are_not_taken_for_ascii(ends: list[int]) -> None:
    offsets = pa.array(ends, pa.int32()).buffers()[1]
    array: Any = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"abcdef")])
    assert not utf8._is_valid(array)


def test_views_in_files(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    raw: Any = pa.array(RAW, pa.binary_view()).view(pa.string_view())
    pq.write_table(pa.table({"i": range(4), "s": raw}), tmp_path / "views.parquet")
    context.sql(f"CREATE EXTERNAL TABLE v (i BIGINT, s STRING) STORED AS PARQUET LOCATION '{tmp_path}'")
    context.sql("CACHE TABLE v")
    assert context.sql("SELECT s FROM v ORDER BY i").fetchall() == [(one,) for one in TEXTS]


def test_valid_rows_stay_as_they_are() -> None:
    (batch,) = pa.table({"s": ["é"], "n": [[{"a": "é"}]], "i": [1]}).to_batches()
    assert valid_batch(batch) is batch
    (bad,) = nested().to_batches()
    made = valid_batch(bad)
    made.validate(full=True)
    assert made["s"].to_pylist() == TEXTS


def test_a_file_with_two_bad_scans_is_noted_once() -> None:
    assert parquet_scan.note_invalid_text("f.parquet")
    assert not parquet_scan.note_invalid_text("f.parquet")

"""Sequence files and RCFiles byte by byte: older versions, damage, columns that are not read."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.catalog.hive_formats import COLUMNAR, SERDE_KEY
from sharkpy.sources.binary_values import read_vlong, vlongs_at, write_text, write_vlong
from sharkpy.sources.formats import source
from sharkpy.sources.hadoop_codecs import CODECS, OUTPUT_CODEC, OUTPUT_TYPE, codec_of_class
from sharkpy.sources.layout import list_data_files
from sharkpy.sources.source import ReadMetrics
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, arrow_schema

SCHEMA = Schema((Field("k", parse_type("int")), Field("v", parse_type("string"))))
SYNC = bytes(range(16))
TEXT, BYTES = "org.apache.hadoop.io.Text", "org.apache.hadoop.io.BytesWritable"


def read(
    format_name: str, path: Path, names: tuple[str, ...] = ("k", "v"), properties: Any = (), split_bytes: int = 1 << 20
) -> tuple[list[tuple[Any, ...]], ReadMetrics]:
    reader, metrics, rows = source(format_name), ReadMetrics(), []
    for split in reader.splits(list_data_files(str(path)), SCHEMA, properties, split_bytes):
        for batch in reader.read(split, SCHEMA, names, metrics):
            rows += list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    return rows, metrics


def batch(num_rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {"k": list(range(num_rows)), "v": [f"value {i}" for i in range(num_rows)]}, arrow_schema(SCHEMA)
    )


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-130, 130), max_size=30))
def test_numbers_of_variable_length(values: list[int]) -> None:
    written = [write_vlong(value) for value in values]
    data = b"".join(written)
    starts = np.cumsum([0, *map(len, written)])[: len(values)]
    assert [read_vlong(data, int(start))[0] for start in starts] == values
    assert vlongs_at(np.frombuffer(data + bytes(9), np.uint8), starts.astype(np.int64)).tolist() == values


@pytest.mark.parametrize("codec", [codec.name for codec in CODECS])
def test_codecs_take_what_they_gave(codec: str) -> None:
    found = codec_of_class(codec)
    for data in (b"", b"x", b"line\n" * 300_000):
        assert found.decompress(found.compress(data)) == data


def test_lz4_blocks_of_several_chunks() -> None:
    """Writers may cut a block into chunks, which do not tell their uncompressed length."""
    parts = [b"abc" * 400, bytes(300), b"tail"]
    chunks = [bytes(pa.Codec("lz4_raw").compress(part, asbytes=True)) for part in parts]
    framed = struct.pack(">I", sum(map(len, parts))) + b"".join(struct.pack(">I", len(c)) + c for c in chunks)
    assert codec_of_class("Lz4Codec").decompress(framed) == b"".join(parts)


def test_unknown_codecs_are_named() -> None:
    with pytest.raises(UnsupportedError, match="LzoCodec"):
        codec_of_class("com.hadoop.compression.lzo.LzoCodec")


def records(values: list[bytes]) -> bytes:
    return b"".join(struct.pack(">iii", 4 + len(value), 4, 0) + value for value in values)


def header(version: int, value_class: str = TEXT, codec: bool = False) -> bytes:
    name = write_text("org.apache.hadoop.io.compress.DefaultCodec") if codec and version >= 5 else b""
    metadata = struct.pack(">i", 1) + write_text("made") + write_text("by hand") if version >= 6 else b""
    return b"SEQ" + bytes([version]) + write_text(BYTES) + write_text(value_class) + bytes([codec, 0]) + name + metadata


@pytest.mark.parametrize("version", [4, 5, 6])
@pytest.mark.parametrize("is_compressed", [False, True])
@pytest.mark.parametrize("value_class", [TEXT, BYTES])
def test_versions_of_sequence_files(version: int, is_compressed: bool, value_class: str, tmp_path: Path) -> None:
    rows = [b"1\x01one", b"2\x01two\nlines", b"3\x01three"]
    sizes = [write_vlong(len(row)) if value_class == TEXT else struct.pack(">i", len(row)) for row in rows]
    values = [size + row for size, row in zip(sizes, rows, strict=True)]
    values = [zlib.compress(value) for value in values] if is_compressed else values
    content = header(version, value_class, is_compressed) + SYNC + records(values[:1])
    (tmp_path / "f").write_bytes(content + b"\xff\xff\xff\xff" + SYNC + records(values[1:]))
    expected = [(1, "one"), (2, "two\nlines"), (3, "three")]
    for split_bytes in (1, 7, 40, 1 << 20):
        assert read("sequencefile", tmp_path / "f", split_bytes=split_bytes)[0] == expected


def test_sequence_files_of_other_values(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(header(6, "org.apache.hadoop.io.IntWritable") + SYNC)
    with pytest.raises(UnsupportedError, match="IntWritable"):
        read("sequencefile", tmp_path / "f")


@pytest.mark.parametrize(
    "properties", [(), ((OUTPUT_CODEC, "GzipCodec"),), ((OUTPUT_CODEC, "GzipCodec"), (OUTPUT_TYPE, "BLOCK"))]
)
@pytest.mark.parametrize("format_name", ["sequencefile", "rcfile"])
def test_a_file_that_is_cut_off_is_an_error(format_name: str, properties: Any, tmp_path: Path) -> None:
    path = tmp_path / "whole"
    source(format_name).write([batch(50)], SCHEMA, properties, str(path))
    data = path.read_bytes()
    for end in (len(data) - 1, len(data) - 10, len(data) // 2, 30):
        cut = tmp_path / f"cut-{end}"
        cut.write_bytes(data[:end])
        with pytest.raises(SourceError, match=f"cut-{end}"):
            read(format_name, cut)


def test_rcfiles_of_the_first_version(tmp_path: Path) -> None:
    """Files of the first version begin as sequence files do, with classes of their own."""
    properties = ((SERDE_KEY, COLUMNAR),)
    source("rcfile").write([batch(5)], SCHEMA, properties, str(tmp_path / "new"))
    data = (tmp_path / "new").read_bytes()
    classes = write_text("org.apache.hadoop.hive.ql.io.RCFile$KeyBuffer") + write_text("RCFile$ValueBuffer")
    (tmp_path / "old").write_bytes(b"SEQ\x06" + classes + bytes(2) + data[5:])
    assert read("rcfile", tmp_path / "old", properties=properties) == read(
        "rcfile", tmp_path / "new", properties=properties
    )


@pytest.mark.parametrize("properties", [(), ((OUTPUT_CODEC, "DefaultCodec"),)])
def test_only_the_wanted_columns_of_an_rcfile_are_read(properties: Any, tmp_path: Path) -> None:
    path = tmp_path / "f"
    source("rcfile").write([batch(5000)], SCHEMA, properties, str(path))
    both, keys = read("rcfile", path), read("rcfile", path, ("k",))
    assert keys[0] == [(key,) for key, _ in both[0]]
    assert keys[1].bytes < both[1].bytes / 2
    data = bytearray(path.read_bytes())
    place = data.rindex(b"value 4999") if not properties else len(data) - 40
    data[place : place + 10] = bytes(10)
    path.write_bytes(bytes(data))
    assert read("rcfile", path, ("k",))[0] == keys[0]


def test_cells_that_are_no_values_are_null_and_counted(tmp_path: Path) -> None:
    text = Schema((Field("k", parse_type("string")), Field("v", parse_type("string"))))
    rows = pa.RecordBatch.from_pydict({"k": ["1", "one", None], "v": ["a", "", "\\N"]}, arrow_schema(text))
    properties = ((SERDE_KEY, COLUMNAR),)
    source("rcfile").write([rows], text, properties, str(tmp_path / "f"))
    found, metrics = read("rcfile", tmp_path / "f", properties=properties)
    assert found == [(1, "a"), (None, ""), (None, None)]
    assert metrics.malformed_fields == 1

"""Sequence files and RCFiles that tell of more than they hold: an error, at once and without the memory for it."""

from __future__ import annotations

import struct
import time
import tracemalloc
import zlib
from pathlib import Path

import pytest

from sharkpy.base.errors import SourceError
from sharkpy.sources.binary_values import write_text, write_vlong
from sharkpy.sources.formats import source
from sharkpy.sources.hadoop_codecs import codec_of_class
from sharkpy.sources.layout import list_data_files
from sharkpy.sources.rows.lazy_binary import decode
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema
from tests.waiting import allowed

SCHEMA = Schema((Field("k", parse_type("int")), Field("v", parse_type("string"))))
SYNC = bytes(range(16))
HUGE = 1 << 62
TEXT, CODEC = "org.apache.hadoop.io.Text", "org.apache.hadoop.io.compress.DefaultCodec"


def refused(kind: str, content: bytes, path: Path, names: tuple[str, ...] = ("k", "v")) -> None:
    """A file is an error, soon and without much memory."""
    path.write_bytes(content)
    (split,) = source(kind).splits(list_data_files(str(path)), SCHEMA, (), 1 << 30)
    tracemalloc.start()
    began = time.process_time()
    try:
        with pytest.raises(SourceError, match="damaged"):
            list(source(kind).read(split, SCHEMA, names))
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    assert time.process_time() - began < allowed(5)


def group(num_rows: int, columns: list[tuple[int, int, bytes, bytes]]) -> bytes:
    """Group of an RCFile: each column claims its stored and its plain bytes, and has the lengths of its cells and its
    content.
    """
    key = write_vlong(num_rows)
    for stored, plain, lengths, _ in columns:
        key += write_vlong(stored) + write_vlong(plain) + write_vlong(len(lengths)) + lengths
    content = b"".join(column[-1] for column in columns)
    return struct.pack(">iii", len(key) + len(content), len(key), len(key)) + key + content


def rcfile(*groups: bytes, metadata: bytes = bytes(4)) -> bytes:
    return b"RCF\x01\x00" + metadata + SYNC + b"".join(groups)


@pytest.mark.parametrize("names", [("k", "v"), ()])
@pytest.mark.parametrize("num_rows", [-1, 1 << 31, HUGE])
def test_rows_of_a_group(num_rows: int, names: tuple[str, ...], tmp_path: Path) -> None:
    refused("rcfile", rcfile(group(num_rows, [(0, 0, b"", b"")])), tmp_path / "f", names)


@pytest.mark.parametrize(
    "column",
    [
        (HUGE, HUGE, write_vlong(1), b"x"),
        (-5, 1, write_vlong(1), b"x"),
        (1, HUGE, write_vlong(1), b"x"),
        (1, 2, write_vlong(1), b"x"),
        (1, 1, write_vlong(HUGE), b"x"),
        (1, 1, write_vlong(-3), b"x"),
        (1, 1, write_vlong(0) + write_vlong(~HUGE), b"x"),
        (1, 1, (write_vlong(0) + write_vlong(~HUGE)) * 5, b"x"),
        (1, 1, b"\x88\x01", b"x"),
    ],
)
def test_columns_of_a_group(column: tuple[int, int, bytes, bytes], tmp_path: Path) -> None:
    refused("rcfile", rcfile(group(1, [column])), tmp_path / "f")


def test_lengths_that_lead_back(tmp_path: Path) -> None:
    """The lengths of a column end before they begin."""
    key = write_vlong(1) + write_vlong(0) + write_vlong(0) + write_vlong(-4) + bytes(8)
    refused("rcfile", rcfile(struct.pack(">iii", len(key), len(key), len(key)) + key), tmp_path / "f")


@pytest.mark.parametrize("kind", ["rcfile", "sequencefile"])
def test_headers(kind: str, tmp_path: Path) -> None:
    text = write_text(TEXT)
    start = b"RCF\x01\x00" if kind == "rcfile" else b"SEQ\x06" + text + text + bytes(2)
    refused(kind, start + struct.pack(">i", -1) + bytes(1 << 20), tmp_path / "f")
    refused(kind, start + struct.pack(">i", 1 << 30) + bytes(10 << 20), tmp_path / "f")
    refused(kind, start + struct.pack(">i", 0) + SYNC[:7], tmp_path / "f")


def blocks(count: int, lengths: bytes, values: bytes, claimed: int | None = None) -> bytes:
    """Sequence file of one block of records."""
    text = write_text(TEXT)
    header = b"SEQ\x06" + text + text + b"\x01\x01" + write_text(CODEC) + bytes(4) + SYNC
    parts = [zlib.compress(part) for part in (b"", b"", lengths, values)]
    sizes = [len(part) for part in parts[:3]] + [len(parts[3]) if claimed is None else claimed]
    written = (write_vlong(size) + part for size, part in zip(sizes, parts, strict=True))
    return header + b"\xff\xff\xff\xff" + SYNC + write_vlong(count) + b"".join(written)


@pytest.mark.parametrize(
    ("count", "lengths", "values", "claimed"),
    [
        (HUGE, b"\x02", b"\x01x", None),
        (-1, b"\x02", b"\x01x", None),
        (2, b"\x02", b"\x01x", None),
        (1, write_vlong(HUGE), b"\x01x", None),
        (1, write_vlong(-2), b"\x01x", None),
        (1, b"\x02", b"\x01x" + bytes(200 << 20), None),
        (1, b"\x02", b"\x05x", None),
        (1, b"\x00", b"", None),
        (1, b"\x02", b"\x01x", HUGE),
        (1, b"\x02", b"\x01x", -9),
    ],
)
def test_blocks_of_records(count: int, lengths: bytes, values: bytes, claimed: int | None, tmp_path: Path) -> None:
    refused("sequencefile", blocks(count, lengths, values, claimed), tmp_path / "f")


@pytest.mark.parametrize("value", [b"", write_vlong(HUGE), write_vlong(-1) + b"x", b"\x8f"])
def test_records(value: bytes, tmp_path: Path) -> None:
    text = write_text(TEXT)
    header = b"SEQ\x06" + text + text + bytes(2) + bytes(4) + SYNC
    refused("sequencefile", header + struct.pack(">ii", len(value), 0) + value, tmp_path / "f")


@pytest.mark.parametrize("codec", ["snappy", "lz4"])
def test_blocks_of_codecs(codec: str) -> None:
    """Sizes that do not end, and sizes that are missing."""
    began = time.process_time()
    for packed in (b"\x80" * (4 << 20), b"\xff" * (4 << 20)):
        for size in (len(packed), (1 << 32) - 1):
            with pytest.raises((EOFError, OSError)):
                codec_of_class(codec).decompress(struct.pack(">II", 1, size) + packed)
    assert time.process_time() - began < allowed(10)


def test_items_within_items() -> None:
    """Each of many small arrays claims all bytes after it."""
    number = 20_000
    inner = struct.pack(">I", 0)
    nulls = b"\xff" * ((number + 7) // 8)
    items = write_vlong(number) + nulls + inner * number
    began = time.process_time()
    with pytest.raises(IndexError):
        decode(struct.pack(">I", len(items)) + items, 0, parse_type("array<array<int>>"))
    assert time.process_time() - began < allowed(2)

"""Avro files and schemas that hold a library, break it, or grow: the statement ends with an error, and nothing else."""

from __future__ import annotations

import bz2
import json
import lzma
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest

import sharkpy
from sharkpy.base.cancellation import Cancellation, current_cancellation
from sharkpy.base.errors import ResourceError, SharkError, SourceError
from sharkpy.catalog.avro_schema import columns_of
from sharkpy.sources import avro_decoder
from sharkpy.sources.avro import AvroSource
from sharkpy.sources.avro_decoder import AvroRecords
from sharkpy.values.types import BIGINT, Field, Schema
from tests.waiting import allowed, until

SYNC = b"0123456789abcdef"
HUGE = 1 << 41


def number(value: int) -> bytes:
    rest, made = value << 1 if value >= 0 else (-value << 1) - 1, bytearray()
    while rest > 0x7F:
        made.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes((*made, rest))


def avro_file(path: Path, fields: list[object], records: bytes, count: int = 1, codec: str = "null") -> Path:
    schema = json.dumps({"type": "record", "name": "r", "fields": fields}).encode()
    head = b"Obj\x01" + number(2)
    for name, value in ((b"avro.codec", codec.encode()), (b"avro.schema", schema)):
        head += number(len(name)) + name + number(len(value)) + value
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(head + number(0) + SYNC + number(count) + number(len(records)) + records + SYNC)
    return path


N = {"name": "n", "type": "long"}
NULLS = {"name": "x", "type": {"type": "array", "items": "null"}}
NESTED = {"name": "x", "type": {"type": "array", "items": {"type": "array", "items": "null"}}}
NOTHING = {"name": "x", "type": {"type": "array", "items": {"type": "record", "name": "none", "fields": []}}}
CHAIN = {"name": "x", "type": {"type": "record", "name": "c", "fields": [{"name": "c", "type": ["null", "c"]}]}}
HOLDING = {
    "nulls": (NULLS, number(HUGE) + number(0)),
    "nulls, with a size": (NULLS, number(-HUGE) + number(0) + number(0)),
    "nested": (NESTED, number(1) + number(HUGE) + number(0) + number(0)),
    "records of nothing": (NOTHING, number(HUGE) + number(0)),
}


@pytest.mark.variants(2)
@pytest.mark.parametrize("columns", ["n, x", "n"], ids=["read", "skipped"])
@pytest.mark.parametrize("name", HOLDING)
def test_a_count_holds_nothing_but_its_statement(
    context: sharkpy.SharkContext, tmp_path: Path, name: str, columns: str
) -> None:
    field, value = HOLDING[name]
    avro_file(tmp_path / "t" / "a.avro", [N, field], number(7) + value)
    given = json.dumps({"type": "record", "name": "r", "fields": [N] if columns == "n" else [N, field]})
    context.sql(
        f"CREATE OR REPLACE TEMPORARY TABLE held STORED AS AVRO LOCATION '{tmp_path}/t' "
        f"TBLPROPERTIES ('avro.schema.literal' = '{given}')"
    )
    context.sql("SET shark.query.timeout=1")
    began = time.monotonic()
    try:
        ended: object = context.sql(f"SELECT {columns} FROM held").fetchall()
    except SharkError as error:
        ended = error.sqlstate
    context.sql("SET shark.query.timeout=0")
    # A block that tells its size is skipped as a whole.
    is_skipped = name == "nulls, with a size" and columns == "n"
    assert ended in ("57014", "HYT00", "58030") or (is_skipped and ended == [(7,)])
    assert time.monotonic() - began < allowed(5)
    until(lambda: not busy_children())


def busy_children() -> list[psutil.Process]:
    found = [one for one in psutil.Process().children() if "sharkpy.base.subprocess_main" in one.cmdline()]
    return [one for one in found if one.cpu_percent(0.1) > 50]


def test_a_chain_that_is_deeper_than_the_stack(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    avro_file(tmp_path / "t" / "a.avro", [N, CHAIN], number(7) + b"\x02" * 3_000_000 + b"\x00")
    given = json.dumps({"type": "record", "name": "r", "fields": [N]})
    context.sql(
        f"CREATE TEMPORARY TABLE chained STORED AS AVRO LOCATION '{tmp_path}/t' "
        f"TBLPROPERTIES ('avro.schema.literal' = '{given}')"
    )
    with pytest.raises(SourceError, match="cannot be read as Avro"):
        context.sql("SELECT n FROM chained").fetchall()
    assert context.sql("SELECT 1").fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("codec", "pack"),
    [
        ("deflate", lambda data: zlib.compress(data, wbits=-15)),
        ("bzip2", bz2.compress),
        ("xz", lzma.compress),
        ("zstandard", lambda data: pa.Codec("zstd").compress(data, asbytes=True)),
        (
            "snappy",
            lambda data: pa.Codec("snappy").compress(data, asbytes=True) + zlib.crc32(data).to_bytes(4, "big"),
        ),
    ],
)
def test_a_block_unfolds_up_to_a_limit(monkeypatch: pytest.MonkeyPatch, codec: str, pack: object) -> None:
    data = bytes(1 << 20)
    packed = pack(data)  # type: ignore[operator]
    assert avro_decoder._plain(packed, codec, "f") == data
    monkeypatch.setattr(avro_decoder, "_MOST_PLAIN_BYTES", 1_000)
    with pytest.raises(SourceError, match=r"more than|claims"):
        avro_decoder._plain(packed, codec, "f")


def test_counts_of_records_are_bounded(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    path = avro_file(tmp_path / "a.avro", [N], b"", count=HUGE)
    with pytest.raises(SourceError):
        context.sql(f"SELECT count(*) FROM '{path}'").fetchall()


def doubling(levels: int) -> dict[str, object]:
    fields: list[object] = [{"name": "f0", "type": {"type": "record", "name": "t0", "fields": [N]}}]
    for level in range(1, levels):
        inner = [{"name": name, "type": f"t{level - 1}"} for name in "ab"]
        fields.append({"name": f"f{level}", "type": {"type": "record", "name": f"t{level}", "fields": inner}})
    return {"type": "record", "name": "r", "fields": fields}


def chained(levels: int) -> dict[str, object]:
    fields: list[object] = [{"name": "f0", "type": {"type": "record", "name": "t0", "fields": [N]}}]
    for level in range(1, levels):
        inner = [{"name": "a", "type": f"t{level - 1}"}]
        fields.append({"name": f"f{level}", "type": {"type": "record", "name": f"t{level}", "fields": inner}})
    return {"type": "record", "name": "r", "fields": fields}


@pytest.mark.parametrize(("schema", "state"), [(doubling(40), "54000"), (chained(2_000), "54001")])
def test_schemas_that_grow_are_refused(context: sharkpy.SharkContext, schema: dict[str, object], state: str) -> None:
    text = f"CREATE TABLE grown STORED AS AVRO TBLPROPERTIES ('avro.schema.literal' = '{json.dumps(schema)}')"
    with pytest.raises(ResourceError) as caught:
        context.sql(text)
    assert caught.value.sqlstate == state


def test_a_long_schema_is_refused(context: sharkpy.SharkContext) -> None:
    with pytest.raises(ResourceError, match="characters"):
        context.sql(f"CREATE TABLE long STORED AS AVRO TBLPROPERTIES ('avro.schema.literal' = '{{}}{' ' * (5 << 20)}')")


def test_names_are_of_their_namespaces() -> None:
    inner = {"type": "record", "name": "inner", "fields": [N]}
    record = {
        "type": "record",
        "name": "outer",
        "namespace": "a.b",
        "fields": [{"name": "x", "type": inner}, {"name": "y", "type": "a.b.inner"}, {"name": "z", "type": "inner"}],
    }
    assert len({str(field.dtype) for field in columns_of(record)}) == 1


def test_values_of_a_stream_that_hold_or_break(context: sharkpy.SharkContext) -> None:
    record = json.dumps({"type": "record", "name": "r", "fields": [N, {"name": "x", "type": "bytes"}]})
    records = AvroRecords(record, None, Schema((Field("n", BIGINT),)), "the records of the stream")
    good = b"\0\0\0\0\1" + number(7) + number(1) + b"x"
    values = pa.array([good, None, b"", b"\0\0\0\0\1\x80", good + b"x", b"\1" + good[1:], good[:-2] + number(HUGE)])
    batch, unreadable = records.of_values(values, 5)
    assert batch.to_pydict() == {"n": [7, None, None, None, None, None, None]}
    assert unreadable == [2, 3, 4, 5, 6]


def test_a_reader_works_for_its_statement(
    context: sharkpy.SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB's threads, which ask for the rows, work for no statement by themselves: no reader would hear its end."""
    path = avro_file(tmp_path / "a.avro", [N], number(7))
    seen: list[Cancellation | None] = []
    original = AvroSource.read

    def read(self: AvroSource, *arguments: Any) -> Iterator[pa.RecordBatch]:
        for batch in original(self, *arguments):
            seen.append(current_cancellation())
            yield batch

    monkeypatch.setattr(AvroSource, "read", read)
    assert context.sql(f"SELECT sum(n) FROM '{path}'").fetchall() == [(7,)]
    assert seen
    assert None not in seen

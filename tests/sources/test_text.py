"""Text tables: Hive's rules for delimiters, nulls, bad fields and lines."""

from __future__ import annotations

import bz2
import datetime
import gzip
import resource
import zlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.base.errors import ExecutionError, ResourceError, SourceError, UnsupportedError
from sharkpy.sources.formats import source
from sharkpy.sources.hadoop_codecs import CODECS
from sharkpy.sources.layout import list_data_files
from sharkpy.sources.line_chunks import LineLayout, line_chunks, line_splits
from sharkpy.sources.rows.delimited import DelimitedReader
from sharkpy.sources.source import ReadMetrics
from sharkpy.sources.text_fields import hide_escapes
from sharkpy.sources.text_format import TextFormat, text_format
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, arrow_schema

COMMA = (("field.delim", ","),)


@pytest.fixture(params=["cut", "split"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Way of cutting: much data is cut by compiled loops, little by Arrow's; every test runs with both."""
    monkeypatch.setattr(DelimitedReader, "_is_much", lambda *_: request.param == "cut")
    return str(request.param)


def schema_of(*types: str) -> Schema:
    return Schema(tuple(Field(f"c{i}", parse_type(text)) for i, text in enumerate(types)))


def read(
    data: bytes,
    folder: Path,
    types: tuple[str, ...],
    properties: Any = COMMA,
    name: str = "f",
    split_bytes: int = 1 << 20,
) -> tuple[list[tuple[Any, ...]], ReadMetrics]:
    path = folder / name
    path.write_bytes(data)
    schema, metrics, rows = schema_of(*types), ReadMetrics(), []
    for split in source("text").splits(list_data_files(str(path)), schema, properties, split_bytes):
        for batch in source("text").read(split, schema, schema.names, metrics):
            assert batch.schema == arrow_schema(schema)
            rows += list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    return rows, metrics


def test_default_delimiters(tmp_path: Path) -> None:
    data = b"1\x01a\x02b\x01k\x03v\x02l\x03\\N\n\\N\x01\\N\x01\\N\n"
    rows, _ = read(data, tmp_path, ("int", "array<string>", "map<string,string>"), ())
    assert rows == [(1, ["a", "b"], [("k", "v"), ("l", None)]), (None, None, None)]


def test_short_and_long_lines(tmp_path: Path) -> None:
    rows, metrics = read(b"1,a\n2\n\n3,b,zzz\n4,c", tmp_path, ("int", "string"))
    assert rows == [(1, "a"), (2, None), (None, None), (3, "b"), (4, "c")]
    assert metrics.malformed_lines == 2
    assert metrics.rows == 5


def test_file_wider_or_narrower_than_the_table(tmp_path: Path) -> None:
    assert read(b"1,a,x\n2,b,y\n", tmp_path, ("int", "string"))[0] == [(1, "a"), (2, "b")]
    rows, metrics = read(b"1\n2\n", tmp_path, ("int", "string"))
    assert rows == [(1, None), (2, None)]
    assert metrics.malformed_lines == 2


def test_empty_text_is_not_null(tmp_path: Path) -> None:
    assert read(b",\n\\N,\\N\n", tmp_path, ("string", "int"))[0] == [("", None), (None, None)]
    properties = (*COMMA, ("serialization.null.format", "NULL"))
    assert read(b"NULL,NULL\n\\N,1\n", tmp_path, ("string", "int"), properties)[0] == [(None, None), ("\\N", 1)]
    properties = (*COMMA, ("serialization.null.format", ""))
    assert read(b",1\nx,\n", tmp_path, ("string", "int"), properties)[0] == [(None, 1), ("x", None)]


BAD = [
    ("int", "x 1.5 2147483648 -2147483648 +7 007 0x1F", [None, 1, None, -(2**31), 7, 7, None]),
    ("tinyint", "127 128 -129", [127, None, None]),
    ("bigint", "9223372036854775807 9223372036854775808 99999999999999999999999", [2**63 - 1, None, None]),
    (
        "double",
        "1 1e3 .5 5. 2d inf Infinity -Infinity x",
        [1, 1000, 0.5, 5, 2, None, float("inf"), float("-inf"), None],
    ),
    ("boolean", "true FALSE tRuE 1 yes", [True, False, True, None, None]),
    ("date", "2013-01-02 2013-1-2 2013-02-30 x", [datetime.date(2013, 1, 2)] * 2 + [None, None]),
    (
        "decimal(5,2)",
        "1 1.005 999.99 1000 1e2 x -0.005",
        [Decimal("1.00"), Decimal("1.01"), Decimal("999.99"), None, Decimal("100.00"), None, Decimal("-0.01")],
    ),
    ("varchar(2)", "abc éàü", ["ab", "éà"]),
]


@pytest.mark.parametrize(("type_name", "fields", "expected"), BAD)
def test_bad_fields_are_null(type_name: str, fields: str, expected: list[Any], tmp_path: Path) -> None:
    data = "".join(f"{field},z\n" for field in fields.split()).encode()
    rows, metrics = read(data, tmp_path, (type_name, "string"))
    assert [row[0] for row in rows] == expected
    assert metrics.malformed_fields == expected.count(None)
    for field, value in zip(fields.split(), expected, strict=True):
        assert read(f"{field},z\n".encode(), tmp_path, (type_name, "string"))[0][0][0] == value


def test_timestamps(tmp_path: Path) -> None:
    data = b"2013-01-02 03:04:05.123456789\n2013-01-02\n2013-1-2 3:4:5\n2013-01-02 25:00:00\nx\n"
    moment = datetime.datetime(2013, 1, 2, 3, 4, 5)
    assert [row[0] for row in read(data, tmp_path, ("timestamp",))[0]] == [
        moment.replace(microsecond=123456),
        datetime.datetime(2013, 1, 2),
        moment,
        None,
        None,
    ]


def test_escapes(tmp_path: Path) -> None:
    properties = (*COMMA, ("escape.delim", "\\"))
    data = b"a\\,b,1\n\\\\N,2\n\\N,3\nx\\\\,4\n\\n\\r\\q,5\nend\\\n"
    rows, metrics = read(data, tmp_path, ("string", "int"), properties)
    assert rows == [("a,b", 1), ("\\N", 2), (None, 3), ("x\\", 4), ("\n\rq", 5), ("end\\", None)]
    assert metrics.malformed_lines == 1


def test_escapes_in_nested_types(tmp_path: Path) -> None:
    properties = (*COMMA, ("collection.delim", "|"), ("mapkey.delim", ":"), ("escape.delim", "\\"))
    rows, _ = read(b"a\\|b|c\\,d,k\\:1:v|m\n", tmp_path, ("array<string>", "map<string,string>"), properties)
    assert rows == [(["a|b", "c,d"], [("k:1", "v"), ("m", None)])]


def test_structs_may_be_short_or_long(tmp_path: Path) -> None:
    properties = (*COMMA, ("collection.delim", "|"))
    rows, _ = read(b"1|a|z,0\n2,0\n\\N,0\n", tmp_path, ("struct<x:int,y:string>", "int"), properties)
    assert [row[0] for row in rows] == [{"x": 1, "y": "a"}, {"x": 2, "y": None}, None]


def test_map_keeps_the_first_of_equal_keys(tmp_path: Path) -> None:
    properties = (*COMMA, ("collection.delim", "|"), ("mapkey.delim", ":"))
    rows, _ = read(b"a:1|a:2|b:3,0\n\\N:1|c:2,0\n,0\n", tmp_path, ("map<string,int>", "int"), properties)
    assert [row[0] for row in rows] == [[("a", 1), ("b", 3)], [("c", 2)], []]


def test_invalid_utf8_is_replaced(tmp_path: Path) -> None:
    assert read(b"a\xffb,1\n", tmp_path, ("string", "int"))[0] == [("a\ufffdb", 1)]


def test_line_ends(tmp_path: Path) -> None:
    assert read(b"a,1\r\nb,2\r\n", tmp_path, ("string", "int"))[0] == [("a", 1), ("b", 2)]
    assert read(b"a,1\r\nb\r\n", tmp_path, ("string", "int"))[0] == [("a", 1), ("b", None)]
    properties = (*COMMA, ("line.delim", ";"))
    assert read(b"a\nx,1;b,2;", tmp_path, ("string", "int"), properties)[0] == [("a\nx", 1), ("b", 2)]


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".zst", zstandard.compress)]
    + [(codec.suffix, codec.compress) for codec in CODECS if codec.suffix in (".deflate", ".snappy", ".lz4")],
)
def test_compressed_files_are_read_whole(suffix: str, compress: Any, tmp_path: Path) -> None:
    data = b"head,er\n" + b"".join(b"%d,x\n" % i for i in range(1000))
    properties = (*COMMA, ("skip.header.line.count", "1"))
    rows, _ = read(compress(data), tmp_path, ("int", "string"), properties, f"f{suffix}", 10)
    assert [row[0] for row in rows] == list(range(1000))
    with pytest.raises(SourceError, match=f"f{suffix}"):
        read(compress(data)[:50] + b"zzzzzzzzz", tmp_path, ("int", "string"), properties, f"f{suffix}")


LINES = st.lists(st.binary(max_size=6).map(lambda b: b.replace(b"\n", b"").replace(b"\r", b"")), max_size=12)


@pytest.mark.variants(2)
@settings(deadline=None, max_examples=60)
@given(LINES, st.integers(1, 30), st.integers(1, 20), st.integers(0, 3), st.booleans())
def test_any_split_size_gives_each_line_once(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], split_bytes: int, chunk: int, header: int, ended: bool
) -> None:
    path = tmp_path_factory.mktemp("s") / "f"
    data = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    path.write_bytes(data)
    properties = (("skip.header.line.count", str(header)),)
    splits = source("text").splits(list_data_files(str(path)), schema_of("string"), properties, split_bytes)
    found = b"".join(part for split in splits for part in line_chunks(split, LineLayout(b"\n", header), chunk))
    assert found == b"".join(data.splitlines(keepends=True)[header:]) if b"\x0b" not in data else True


@settings(deadline=None, max_examples=60)
@given(LINES, st.integers(1, 30), st.integers(0, 3), st.integers(0, 3), st.booleans(), st.booleans())
def test_header_and_footer_are_left_out(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[bytes],
    split_bytes: int,
    header: int,
    footer: int,
    ended: bool,
    is_compressed: bool,
) -> None:
    lines = [b"l" + line for line in lines]
    data = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    path = tmp_path_factory.mktemp("s") / ("f.gz" if is_compressed else "f")
    path.write_bytes(gzip.compress(data) if is_compressed else data)
    layout = LineLayout(b"\n", header, footer)
    splits = line_splits(list_data_files(str(path)), "text", (), split_bytes, layout)
    found = b"".join(part for split in splits for part in line_chunks(split, layout, 7))
    assert found.splitlines() == lines[header : max(len(lines) - footer, 0)]


def test_torn_rows_are_written_on_demand(tmp_path: Path) -> None:
    schema = schema_of("string", "int")
    batch = pa.RecordBatch.from_pydict({"c0": ["a\nb"], "c1": [1]}, arrow_schema(schema))
    source("text").write([batch], schema, (*COMMA, ("shark.text.torn.rows", "true")), str(tmp_path / "f"))
    assert (tmp_path / "f").read_bytes() == b"a\nb,1\n"


@pytest.mark.variants(2)
def test_small_splits_give_the_same_rows(tmp_path: Path) -> None:
    data = b"h\n" + b"".join(b"%d,%s\n" % (i, b"v" * (i % 7)) for i in range(200))
    properties = (*COMMA, ("skip.header.line.count", "1"))
    expected = read(data, tmp_path, ("int", "string"), properties)[0]
    for split_bytes in (1, 2, 3, 7, 64, 1000):
        assert read(data, tmp_path, ("int", "string"), properties, split_bytes=split_bytes)[0] == expected


def test_writer_refuses_what_it_cannot_express(tmp_path: Path) -> None:
    schema = schema_of("string", "int")
    batch = pa.RecordBatch.from_pydict({"c0": ["a,b"], "c1": [1]}, arrow_schema(schema))
    with pytest.raises(ExecutionError, match="delimiter ','"):
        source("text").write([batch], schema, COMMA, str(tmp_path / "f"))
    assert list(tmp_path.iterdir()) == []
    assert source("text").write([batch], schema, (), str(tmp_path / "f")) == 1


def test_numbers_are_written_as_java_does(tmp_path: Path) -> None:
    schema = schema_of("double", "float", "timestamp")
    moments = [datetime.datetime(2013, 1, 2), datetime.datetime(2013, 1, 2, 0, 0, 0, 120000), None]
    values = {"c0": [1.0, 1e10, 1e-5], "c1": [0.1, float("nan"), 1.5e20], "c2": moments}
    path = tmp_path / "f"
    source("text").write([pa.RecordBatch.from_pydict(values, arrow_schema(schema))], schema, COMMA, str(path))
    assert path.read_text().splitlines() == [
        "1.0,0.1,2013-01-02 00:00:00",
        "1.0E10,NaN,2013-01-02 00:00:00.12",
        "1.0E-5,1.5E20,\\N",
    ]


def test_delimiters_by_number_and_escape() -> None:
    layout = text_format((("field.delim", "9"), ("collection.delim", "\\002"), ("escape.delim", "\\")))
    assert layout.separators[:3] == (9, 2, 3)
    assert layout.escape == ord("\\")
    with pytest.raises(UnsupportedError, match="delimiter"):
        text_format((("field.delim", "||"),))


def test_hidden_bytes_are_unused_ones() -> None:
    data, hidden = hide_escapes(b"a\\,b\\\\,c\\", TextFormat((ord(","), 2, 3, 4), escape=ord("\\")))
    assert data.count(b",") == 1
    revealed = hidden.reveal(pa.array(data.split(b","), pa.binary())).to_pylist()
    assert revealed == [b"a,b\\", b"c\\"]


LIMIT = (("shark.text.line.max.bytes", "20"),)


@pytest.mark.variants(3)
@pytest.mark.parametrize("suffix", ["", ".gz", ".deflate"])
@pytest.mark.parametrize("chunk", [3, 7, 1 << 20])
@pytest.mark.parametrize("ended", [b"", b"\n", b"\nc\n"])
def test_a_line_beyond_the_limit_is_refused_with_its_place(
    suffix: str, chunk: int, ended: bytes, tmp_path: Path
) -> None:
    compress = {"": bytes, ".gz": gzip.compress, ".deflate": zlib.compress}[suffix]
    longest = b"x" * 20
    for line, is_refused in ((longest, False), (longest + b"x", True), (longest * 50, True)):
        path = tmp_path / f"f{suffix}"
        path.write_bytes(compress(b"ab\n" + line + ended))
        splits = line_splits(list_data_files(str(path)), "text", LIMIT, 1 << 20, LineLayout())
        chunks = (part for split in splits for part in line_chunks(split, LineLayout(), chunk))
        if not is_refused:
            assert b"".join(chunks) == b"ab\n" + line + ended
            continue
        with pytest.raises(ResourceError, match=rf"the line at byte 3 of .*20: .*f{suffix}") as caught:
            list(chunks)
        assert caught.value.sqlstate == "54000"


@pytest.mark.variants(2)
def test_a_line_that_never_ends_is_read_no_further_than_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(bytes(300 << 20), 1))
    splits = line_splits(list_data_files(str(path)), "text", (), 1 << 20, LineLayout())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ResourceError, match="the line at byte 0 of what it holds"):
        next(line_chunks(splits[0], LineLayout()))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 290 << 10


def test_a_footer_is_looked_for_no_further_than_its_lines_may_reach(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x" * (1 << 20))
    with pytest.raises(ResourceError, match="longer than shark"):
        line_splits(list_data_files(str(path)), "text", LIMIT, 1 << 20, LineLayout(footer_lines=1))


def test_a_small_block_claims_no_large_one(tmp_path: Path) -> None:
    """Room is made by what a block says that it holds: before its bytes are looked at."""
    path = tmp_path / "f.snappy"
    packed = b"\xff\xff\xff\xff\x0f" + b"x"
    path.write_bytes((1 << 31).to_bytes(4, "big") + len(packed).to_bytes(4, "big") + packed)
    with pytest.raises(SourceError, match="claims more than it can hold"):
        read(path.read_bytes(), tmp_path, ("string",), COMMA, "f.snappy")


@pytest.mark.variants(2)
def test_what_deflate_unfolds_comes_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "f.deflate"
    path.write_bytes(zlib.compress(bytes(64 << 20)))
    codec = next(one for one in CODECS if one.suffix == ".deflate")
    with codec.stream(str(path)) as stream:
        assert len(stream.read(1)) == 1
        assert len(stream._rest) <= 4 << 20  # type: ignore[attr-defined]
        assert 1 + sum(iter(lambda: len(stream.read(1 << 20)), 0)) == 64 << 20

"""USING csv: splits, chunks, the quick reader compared with the slow one, round trips, options, malformed rows."""

from __future__ import annotations

import bz2
import datetime
import gzip
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sharkpy.base.errors import ConfigurationError, ExecutionError, ResourceError, SharkError, SourceError
from sharkpy.catalog.format_options import CSV
from sharkpy.sources import split_rows, text_files
from sharkpy.sources.csv_files import chunks, reader
from sharkpy.sources.csv_files.options import csv_options
from sharkpy.sources.csv_files.reader import ArrowCsvReader
from sharkpy.sources.formats import file_suffix, source
from sharkpy.sources.hadoop_codecs import CODECS
from sharkpy.sources.layout import list_data_files
from sharkpy.sources.source import ReadMetrics
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, arrow_schema
from tests.examples import examples

ABC = "a string, b string, c string"
Options = dict[str, str]


def schema_of(columns: str) -> Schema:
    pairs = (column.split() for column in columns.split(", "))
    return Schema(tuple(Field(name, parse_type(dtype)) for name, dtype in pairs))


def read(path: Path, columns: str, options: Options, split_bytes: int = 1 << 20, names: Any = None) -> list[Any]:
    schema, properties, form = schema_of(columns), tuple(options.items()), source(CSV)
    splits = form.splits(list_data_files(str(path)), schema, properties, split_bytes)
    names = schema.names if names is None else names
    batches = [batch for split in splits for batch in form.read(split, schema, names, ReadMetrics())]
    if not names:
        return [sum(batch.num_rows for batch in batches)]
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def write(path: Path, rows: list[dict[str, Any]], columns: str, options: Options) -> bytes:
    schema = schema_of(columns)
    batch = pa.RecordBatch.from_pylist(rows, arrow_schema(schema))
    source(CSV).write([batch.slice(0, 1), batch.slice(1)], schema, tuple(options.items()), str(path))
    return path.read_bytes()


ROWS = [(str(number), f"v{number}, w", None if number % 3 else "q") for number in range(60)]
CONTENT = b'x,y,z\n\n"#",\n' + "".join(f'{a},"{b}",{c or ""}\n' for a, b, c in ROWS).encode()


@pytest.mark.variants(3)
@pytest.mark.parametrize("split_bytes", [1, 7, 50, 10_000])
@pytest.mark.parametrize("codec", ["none", "gzip", "bzip2", "zstd", "deflate", "snappy", "lz4"])
def test_splits_hold_each_row_once(tmp_path: Path, split_bytes: int, codec: str) -> None:
    found = next((one for one in CODECS if one.name == codec), None)
    path = tmp_path / f"f.csv{found.suffix if found else ''}"
    path.write_bytes(found.compress(CONTENT) if found else CONTENT)
    for multi_line in ("false", "true"):
        rows = read(path, ABC, {"header": "true", "multiLine": multi_line}, split_bytes)
        assert rows == [("#", None, None), *ROWS]
        assert read(path, ABC, {"header": "true", "multiLine": multi_line}, split_bytes, ()) == [61]


@pytest.mark.parametrize("newline", ["\r", "\r\n", "\n", "|"])
@pytest.mark.parametrize("split_bytes", [1, 20, 1 << 20])
def test_line_ends(tmp_path: Path, newline: str, split_bytes: int) -> None:
    (tmp_path / "f.csv").write_bytes(newline.join(["", "x,y", "1,a", "", "2,b", "3,c"]).encode())
    options = {"header": "true"} | ({"lineSep": "|"} if newline == "|" else {})
    assert read(tmp_path, "a int, b string", options, split_bytes) == [(1, "a"), (2, "b"), (3, "c")]


def test_files_with_line_breaks_in_quotes_are_not_split(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_bytes(b'1,"a\nb"\n' * 50)
    splits = source(CSV).splits(
        list_data_files(str(tmp_path)), schema_of("a int, b string"), (("multiLine", "true"),), 9
    )
    assert [(split.start, split.length) for split in splits] == [(0, 400)]
    assert not source(CSV).splits_lines((("multiLine", "true"),))
    assert source(CSV).splits_lines(())


@pytest.mark.parametrize("options", [{"multiLine": "true"}, {"header": "true"}])
def test_threads_cut_splits_where_rows_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: Options) -> None:
    monkeypatch.setattr(split_rows, "PIECE_BYTES", 20)
    text = "a\n" * 5 if "multiLine" in options else "a, b"
    content = "".join(f'{number},"{text}"\n' for number in range(40))
    (tmp_path / "f.csv").write_text(("x,y\n" if "header" in options else "") + content)
    schema, properties, form = schema_of("a int, b string"), tuple(options.items()), source(CSV)
    splits = form.splits(list_data_files(str(tmp_path)), schema, properties, 1 << 20)
    parts = split_rows.read_splits(splits, lambda split, _: form.read(split, schema, ("a",)), ReadMetrics(), 2)
    assert [row for _, batch in parts for row in batch.column(0).to_pylist()] == list(range(40))


@pytest.mark.parametrize("chunk_bytes", [1, 5, 30, 1000])
@pytest.mark.parametrize("escape", ["\\", '"'])
def test_rows_are_read_over_the_ends_of_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int, escape: str
) -> None:
    monkeypatch.setattr(text_files, "CHUNK_BYTES", chunk_bytes)
    text = f'{escape}"'
    content = f'x,y\n1,"a\n\nb, c"\r\n2,é\n\n3,"{text}\n{text}"\n4,"x" y\n5,""\n6,"'
    (tmp_path / "f.csv").write_bytes(content.encode())
    rows = read(
        tmp_path, "a int, b string", {"header": "true", "multiLine": "true", "escape": escape, "nullValue": "-"}
    )
    assert rows == [(1, "a\n\nb, c"), (2, "é"), (3, '"\n"'), (4, '"x" y'), (5, ""), (6, '"')]


@pytest.mark.parametrize("multi_line", ["true", "false"])
@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-16LE", "UTF-32", "ISO-8859-1", "windows-1252"])
def test_encodings(tmp_path: Path, encoding: str, multi_line: str) -> None:
    options = {"encoding": encoding, "header": "true", "multiLine": multi_line}
    rows = [{"a": number, "é": f"grün {number}"} for number in range(9)]
    content = write(tmp_path / "f.csv", rows, "a int, é string", options)
    assert content.decode(encoding).splitlines()[:2] == ["a,é", "0,grün 0"]
    assert read(tmp_path, "a int, é string", options, 20) == [tuple(row.values()) for row in rows]


PIECES = st.sampled_from(
    ["a", "b c", '"', '""', "\\", "\\\\", '\\"', ",", ",", "\n", "\n", " ", "\r\n", "#", "é", "\t"]
)
TEXTS = st.lists(PIECES, max_size=25).map("".join)
LAYOUTS = st.fixed_dictionaries(
    {},
    optional={
        "sep": st.sampled_from([",", "\t", " ", ", "]),
        "escape": st.sampled_from(['"', "\\", ""]),
        "quote": st.sampled_from(['"', "'", ""]),
        "comment": st.just("#"),
        "multiLine": st.sampled_from(["true", "false"]),
        "ignoreLeadingWhiteSpace": st.just("true"),
        "ignoreTrailingWhiteSpace": st.just("true"),
        "lineSep": st.sampled_from(["\n", "\t"]),
        "emptyValue": st.just("e"),
        "nullValue": st.just("b c"),
        "mode": st.sampled_from(["PERMISSIVE", "DROPMALFORMED"]),
    },
)


@settings(max_examples=examples(600), deadline=None, suppress_health_check=list(HealthCheck))
@given(TEXTS, LAYOUTS, st.sampled_from(["a string", "a string, b string", ABC]))
def test_the_quick_reader_reads_as_the_slow_one(text: str, options: Options, columns: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder, "f.csv")
        path.write_bytes(text.encode())
        try:
            quick = read(path, columns, options)
        except ConfigurationError:
            return
        patch.setattr(ArrowCsvReader, "read", lambda *_: None)
        assert read(path, columns, options) == quick


def test_lines_that_arrow_refuses_cost_their_neighbours_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row that is too short among many: all but those next to it are read by Arrow."""
    count = 0

    def counted(self: reader.CsvRowReader, records: Any) -> Any:
        nonlocal count
        count += len(records)
        return read_records(self, records)

    read_records = reader.CsvRowReader.read_records
    monkeypatch.setattr(reader.CsvRowReader, "read_records", counted)
    (tmp_path / "f.csv").write_bytes(b"1,a\n" * 100_000 + b"2\n" + b"3,c\n" * 100_000)
    rows = read(tmp_path, "a int, b string", {})
    assert len(rows) == 200_001
    assert rows[100_000] == (2, None)
    assert 0 < count < 40_000


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "a": st.integers(-(2**63), 2**63 - 1),
    "b": st.text(st.sampled_from("ab,;\"\\'\n\r\t #é\u4e16"), min_size=1, max_size=8),
    "c": st.floats(allow_nan=False, width=64),
    "d": st.integers(-(10**12) + 1, 10**12 - 1).map(lambda number: Decimal(number).scaleb(-3)),
    "e": st.dates(),
    "f": st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1)),
    "g": st.booleans(),
    "h": st.floats(allow_nan=False, width=32),
}
COLUMNS = "a bigint, b string, c double, d decimal(12,3), e date, f timestamp, g boolean, h float"
WRITTEN = st.fixed_dictionaries(
    {"multiLine": st.just("true")},
    optional={
        "sep": st.sampled_from([";", "\t", "||", "-", " "]),
        "escape": st.sampled_from(['"', "\\"]),
        "quote": st.just("'"),
        "quoteAll": st.just("true"),
        "header": st.just("true"),
        "comment": st.just("#"),
        "encoding": st.sampled_from(["UTF-16", "UTF-8"]),
        "compression": st.sampled_from(["gzip", "zstd", "none"]),
        "lineSep": st.just("\n"),
    },
)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.fixed_dictionaries({name: st.none() | VALUES[name] for name in VALUES}), max_size=6), WRITTEN)
def test_rows_are_read_as_written(rows: list[dict[str, Any]], options: Options) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f" + file_suffix(CSV, tuple(options.items())))
        write(path, rows, COLUMNS, options)
        assert read(path, COLUMNS, options) == [tuple(row[name] for name in VALUES) for row in rows]


@pytest.mark.parametrize("values", [[None], ["", "x"], ["  "], ["#"], ['"'], ["\\"], [None, None, "a"]])
@pytest.mark.parametrize("options", [{}, {"comment": "#", "escape": '"'}, {"sep": " "}])
def test_rows_of_one_column(tmp_path: Path, values: list[str | None], options: Options) -> None:
    more = options | {"nullValue": "-", "mode": "FAILFAST"}
    write(tmp_path / "f.csv", [{"a": value} for value in values], "a string", more)
    assert read(tmp_path, "a string", more) == [(value,) for value in values]


def test_rows_of_nulls_alone_are_rows(tmp_path: Path) -> None:
    write(tmp_path / "f.csv", [{"a": None, "b": None}, {"a": None, "b": None}], "a string, b string", {"sep": "\t"})
    assert read(tmp_path, "a string, b string", {"sep": "\t"}) == [(None, None)] * 2


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        ("a\nb", {}, "holds a line break.*multiLine"),
        ("a\rb", {}, "holds a line break"),
        ("a|b", {"lineSep": "|"}, "holds a line break"),
        ("a,b", {"quote": ""}, "holds a separator.*the option quote"),
        ('"a', {"escape": ""}, "holds a quote.*the option escape"),
        (None, {"quote": ""}, "only empty fields.*nullValue"),
    ],
)
def test_what_would_be_read_otherwise_is_not_written(
    tmp_path: Path, value: str | None, options: Options, message: str
) -> None:
    with pytest.raises(ExecutionError, match=message) as caught:
        write(tmp_path / "f.csv", [{"a": value}], "a string", options)
    assert caught.value.sqlstate == "22000"
    assert not list(tmp_path.iterdir())


def test_bytes_that_are_no_text_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(ExecutionError, match="bytes that are no text"):
        write(tmp_path / "f.csv", [{"a": b"\xff"}], "a binary", {})


@pytest.mark.parametrize("names", [("a",), ("b",), ()])
def test_a_row_is_malformed_whichever_columns_are_read(tmp_path: Path, names: tuple[str, ...]) -> None:
    (tmp_path / "f.csv").write_bytes(b"1,2\nx,3\n4,y\n5\n")
    assert len(read(tmp_path, "a int, b int", {"mode": "DROPMALFORMED"}, names=("a",))) == 1
    with pytest.raises(SourceError, match=r'malformed row in ".*f\.csv": x,3') as caught:
        read(tmp_path, "a int, b int", {"mode": "failfast"}, names=names)
    assert caught.value.sqlstate == "22P04"
    assert "DROPMALFORMED" in str(caught.value)


def test_malformed_rows_are_counted(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_bytes(b"1,2\nx,3\n4\n")
    metrics, schema = ReadMetrics(), schema_of("a int, b int")
    for split in source(CSV).splits(list_data_files(str(tmp_path)), schema, (), 1 << 20):
        list(source(CSV).read(split, schema, schema.names, metrics))
    assert (metrics.rows, metrics.malformed_lines, metrics.malformed_fields, metrics.bytes) == (3, 1, 1, 10)


def test_a_quote_that_is_not_closed_ends_at_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MOST_RECORD_BYTES", 1 << 16)
    monkeypatch.setattr(text_files, "CHUNK_BYTES", 1 << 10)
    (tmp_path / "f.csv").write_bytes(b'1,"' + b"x\n" * (1 << 16))
    with pytest.raises(ResourceError, match="has a row of more than"):
        read(tmp_path, "a int, b string", {"multiLine": "true"})


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_a_damaged_file_is_named(tmp_path: Path, compress: Any) -> None:
    path = tmp_path / ("f.csv.gz" if compress is gzip.compress else "f.csv.bz2")
    path.write_bytes(compress(CONTENT)[:40])
    for multi_line in ("true", "false"):
        with pytest.raises(SourceError, match=r"f\.csv"):
            read(path, ABC, {"multiLine": multi_line})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("header", "1", "true or false expected"),
        ("quote", "ab", "one character expected"),
        ("sep", "", "a separator of columns expected"),
        ("sep", "\\", "a single backslash"),
        ("sep", "\\q", "the escape"),
        ("sep", '"', "sep and quote of a CSV table are equal"),
        ("comment", ",", "sep and comment"),
        ("lineSep", "", "an empty text is not a value of lineSep"),
        ("lineSep", "\r\n", "one ASCII character is supported"),
        ("encoding", "klingon", "no such character set"),
        ("encoding", "base64", "no such character set"),
        ("mode", "PERMISIVE", 'did you mean "PERMISSIVE"'),
        ("dateFormat", "yyyy-bb", "is not a date pattern"),
        ("timestampFormat", "HH[:mm", "not closed"),
        ("timeZone", "Mars/Olympus", "no such zone"),
        ("compression", "rar", "one of bzip2, deflate, gzip"),
        ("bogus", "1", 'has no option "bogus"'),
        ("multiline2", "1", 'did you mean "multiLine"'),
        ("Header", "true", 'the option "Header" is called header'),
        ("field.delim", ",", "it is the option sep"),
        ("escapeQuotes", "false", "escapeQuotes.*use true"),
        ("inputBufferSize", "9", "the option inputBufferSize"),
    ],
)
def test_options_that_cannot_be_obeyed(name: str, value: str, message: str) -> None:
    with pytest.raises(SharkError, match=message):
        source(CSV).check(schema_of("a int"), ((name, value),))


def test_values_that_hold_anyway_are_taken() -> None:
    given = (("enforceSchema", "true"), ("maxColumns", "20480"), ("unescapedQuoteHandling", "stop_at_delimiter"))
    source(CSV).check(schema_of("a int"), given)
    assert csv_options(()) == csv_options((("sep", ","), ("quote", '"'), ("escape", "\\"), ("encoding", "utf8")))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("a array<int>", 'the column "a" of type array<int> in a CSV table'),
        ("a int, _corrupt_record int", 'the column "_corrupt_record" for malformed rows is int'),
    ],
)
def test_columns_that_csv_has_not(columns: str, message: str) -> None:
    with pytest.raises(SharkError, match=message):
        source(CSV).check(schema_of(columns), ())


def test_malformed_rows_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(SharkError, match='the column "_corrupt_record" for malformed rows'):
        write(tmp_path / "f.csv", [{"a": 1, "_corrupt_record": None}], "a int, _corrupt_record string", {})

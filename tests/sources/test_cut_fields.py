"""Text cut by compiled loops: the same rows and counts as by splitting with Arrow, which test_text tests as well."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sharkpy.sources import line_chunks, split_rows
from sharkpy.sources.formats import source
from sharkpy.sources.kernels.cut_lines import count_byte
from sharkpy.sources.layout import list_data_files
from sharkpy.sources.rows.delimited import DelimitedReader
from sharkpy.sources.source import ReadMetrics
from sharkpy.sources.split_rows import read_split
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema
from tests.examples import examples

TYPES = (
    *("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "date", "timestamp"),
    *("decimal(5,2)", "decimal(18,0)", "decimal(38,18)", "decimal(20,1)", "string", "varchar(3)", "char(2)", "binary"),
    *("array<int>", "map<string,int>", "struct<a:int,b:string>"),
)
TOKENS = (
    *(b",", b"\n", b"\r", b"\r\n", b"\\", b"\\N", b"N", b"\x02", b"\x03", b"|", b"\x00", b" ", b"-", b"+", b".", b":"),
    *(b"1", b"12345678", b"9223372036854775807", b"0.1", b".5", b"5.", b"-0", b"1e5", b"1E-400", b"NaN", b"Infinity"),
    *(b"2020-02-29", b"2021-02-29", b"0000-01-01", b" 03:04:05", b"T23:59:59.1234567", b".999999", b"true", b"FaLsE"),
    *("é".encode(), "\u2028".encode(), b"\xff", b"\xe2\x82", b"x" * 70, b"\xef\xbb\xbf", b"0x1F", b"007", b"1_0"),
)
PROPERTIES = (
    (("field.delim", ","),),
    (("field.delim", ","), ("serialization.null.format", "")),
    (("field.delim", ","), ("serialization.null.format", "12345678")),
    (("field.delim", ","), ("escape.delim", "\\")),
    (("field.delim", ","), ("serialization.last.column.takes.rest", "true")),
    (("field.delim", "|"), ("line.delim", ",")),
    (("field.delim", "\\000"),),
    (("field.delim", "-2"),),
)
SEPARATED = st.lists(st.lists(st.sampled_from(TOKENS), max_size=3).map(b"".join), max_size=6).map(b",".join)
DATA = st.lists(SEPARATED | st.binary(max_size=8), max_size=12).map(b"\n".join)
COLUMNS = st.lists(st.sampled_from(TYPES), min_size=1, max_size=5)
Answer = tuple[list[str], tuple[int, ...]]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cut") / "f"


def schema_of(types: Sequence[str]) -> Schema:
    return Schema(tuple(Field(f"c{i}", parse_type(text)) for i, text in enumerate(types)))


def cut(*arguments: Any) -> Answer:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DelimitedReader, "_is_much", lambda *_: True)
        return read(*arguments)


def split(*arguments: Any) -> Answer:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DelimitedReader, "_is_much", lambda *_: False)
        return read(*arguments)


def read(path: Path, schema: Schema, names: Sequence[str], properties: Any, split_bytes: int = 1 << 20) -> Answer:
    """Rows as text, in which NaN equals itself and -0.0 differs from 0.0, and the counts of malformed parts."""
    metrics, rows = ReadMetrics(), []
    for split in source("text").splits(list_data_files(str(path)), schema, properties, split_bytes):
        for batch in source("text").read(split, schema, names, metrics):
            batch.validate(full=True)
            columns = [_values(column) for column in batch.columns]
            rows += list(map(repr, zip(*columns, strict=True))) if columns else ["()"] * batch.num_rows
    return rows, (metrics.rows, metrics.malformed_lines, metrics.malformed_fields)


def _values(column: pa.Array[Any]) -> list[Any]:
    """Values of a column; times as numbers, as Python has no year 0."""
    number = {"date32[day]": pa.int32(), "timestamp[us]": pa.int64()}.get(str(column.type), column.type)
    return column.view(number).to_pylist() if number != column.type else column.to_pylist()


@settings(deadline=None, max_examples=examples(400))
@given(DATA, COLUMNS, st.sampled_from(PROPERTIES), st.randoms(use_true_random=False), st.integers(1, 200))
@example(b"", ["int"], PROPERTIES[0], random.Random(0), 1)
@example(b"\n", ["string"], PROPERTIES[0], random.Random(0), 1)
@example(b"1,2", ["int", "int"], PROPERTIES[4], random.Random(0), 1)
@example(b"x" * 63 + b"\n" + b"y" * 64 + b"\n" + b"z" * 64, ["string"], PROPERTIES[0], random.Random(0), 64)
def test_cut_is_as_split(
    path: Path,
    data: bytes,
    types: list[str],
    properties: Any,
    chooser: random.Random,
    split_bytes: int,
) -> None:
    path.write_bytes(data)
    schema = schema_of(types)
    names = chooser.sample(schema.names, chooser.randint(0, len(types)))
    expected = split(path, schema, names, properties)
    assert cut(path, schema, names, properties) == expected
    if b"\r" not in data:
        # A carriage return ends a line, but no split begins after it.
        assert cut(path, schema, names, properties, split_bytes) == expected


@pytest.mark.parametrize("dtype", [name for name in TYPES if "<" not in name])
def test_many_fields_of_a_type(dtype: str, path: Path) -> None:
    """Fields near the plain form of some type, so many that each field has other fields in its batch."""
    chooser = random.Random(7)
    forms = [
        "{0}",
        "-{0}",
        "{0}.{1}",
        "-{0}.{1}",
        "{0}e{2}",
        "{0}.{1}E-{2}",
        "{3}",
        "{3} {4}",
        "{3}T{4}.{1}",
        " {0}",
        "+{0}",
    ]
    lines = []
    for _ in range(4000):
        digits = [str(chooser.randrange(10 ** chooser.randint(1, 20))) for _ in range(2)]
        year, month, day = chooser.randint(0, 10000), chooser.randint(0, 13), chooser.randint(0, 32)
        time = f"{chooser.randint(0, 24):02}:{chooser.randint(0, 60):02}:{chooser.randint(0, 60):02}"
        form = chooser.choice(forms)
        lines.append(form.format(*digits, chooser.randint(0, 40), f"{year:04}-{month:02}-{day:02}", time))
        if chooser.random() < 0.1:
            place = chooser.randint(0, len(lines[-1]))
            lines[-1] = lines[-1][:place] + chooser.choice("x:-/ 0\u0660") + lines[-1][place:]
    bounds = [2**bits for bits in (7, 15, 31, 63)] + [10**digits for digits in (3, 5, 17, 18, 19)]
    lines += [f"{sign}{bound + step}" for sign in ("", "-") for bound in bounds for step in range(-2, 3)]
    path.write_text("\n".join(lines))
    schema = schema_of([dtype])
    expected, expected_counts = split(path, schema, ["c0"], PROPERTIES[0])
    rows, counts = cut(path, schema, ["c0"], PROPERTIES[0])
    assert [found for found in zip(lines, rows, expected, strict=True) if found[1] != found[2]] == []
    assert counts == expected_counts


def test_floating_point_numbers_are_the_nearest(path: Path) -> None:
    chooser = random.Random(3)
    values = [chooser.uniform(-1, 1) * 10.0 ** chooser.randint(-30, 30) for _ in range(2000)]
    values += [float(f"{value:.{chooser.randint(1, 6)}g}") for value in values]
    path.write_text("\n".join(f"{value!r},{value!r}" for value in values))
    schema = schema_of(["double", "float"])
    singles = np.array(values, np.float32).tolist()
    assert cut(path, schema, schema.names, PROPERTIES[0])[0] == list(map(repr, zip(values, singles, strict=True)))


@pytest.mark.parametrize("width", [1, 7, 63, 64, 65, 200])
def test_lines_around_the_width_of_a_comparison(width: int, path: Path) -> None:
    lines = [("ab," * 100)[: (width + i) % (2 * width)] for i in range(300)]
    path.write_text("".join(f"{line}\n" for line in lines))
    expected = [tuple(map(repr, [*line.split(","), None, None][:2])) for line in lines]
    rows, (num_rows, short, _) = cut(path, schema_of(["string", "string"]), ["c0", "c1"], PROPERTIES[0])
    assert rows == [f"({first}, {second})" for first, second in expected]
    assert (num_rows, short) == (300, sum("," not in line for line in lines))


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1000])
def test_bytes_are_counted(size: int) -> None:
    data = np.frombuffer(bytes(itertools.islice(itertools.cycle(b"a\nb"), size)), np.uint8)
    assert count_byte(data, np.uint8(10)) == bytes(data).count(b"\n")


def test_pieces_of_splits_are_read_ahead_in_order(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_rows, "PIECE_BYTES", 50)
    path.write_text("".join(f"{i},{'v' * (i % 90)}\n" + "short\n" * (i % 5 == 0) for i in range(500)))
    schema = schema_of(["string", "string"])
    splits = source("text").splits(list_data_files(str(path)), schema, PROPERTIES[0], 777)

    def rows(threads: int) -> tuple[list[tuple[int, Any]], ReadMetrics]:
        def read_names(split: Any, metrics: ReadMetrics) -> Iterator[pa.RecordBatch]:
            return read_split(split, schema, ["c0"], metrics)

        metrics = ReadMetrics()
        found = split_rows.read_splits(splits, read_names, metrics, threads)
        return [(split.start, row) for split, batch in found for row in batch.column(0).to_pylist()], metrics

    assert len(splits) > 5
    assert rows(3) == rows(1)
    assert rows(3)[1].malformed_lines == 100


def test_a_line_longer_than_pieces_is_searched_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"a" * 200_000 + b"\nb\n")
    searched = 0
    original = line_chunks._next_line

    def counted(file: Any, place: int, newline: bytes, end: int | None = None) -> int:
        nonlocal searched
        found = original(file, place, newline, end)
        searched += found - place
        return found

    monkeypatch.setattr(line_chunks, "_next_line", counted)
    schema = schema_of(["string"])
    splits = source("text").splits(list_data_files(str(path)), schema, PROPERTIES[0], 1000)
    metrics = ReadMetrics()
    found = [batch.num_rows for split in splits for batch in source("text").read(split, schema, ["c0"], metrics)]
    assert sum(found) == metrics.rows == 2
    assert searched < 3 * 200_000


def test_the_way_changes_once_there_is_much_text(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DelimitedReader, "bytes_read", 0)
    monkeypatch.setattr("sharkpy.sources.rows.delimited._KERNELS", "not loaded")
    monkeypatch.setattr("sharkpy.sources.rows.delimited.MUCH_BYTES", 10)
    taken = []
    for way in ("_by_cutting", "_by_splitting"):
        original = getattr(DelimitedReader, way)

        def noted(*arguments: Any, way: str = way, original: Any = original) -> Any:
            taken.append(way)
            return original(*arguments)

        monkeypatch.setattr(DelimitedReader, way, noted)
    path.write_text("1\n2\n")
    for _ in range(3):
        assert read(path, schema_of(["int"]), ["c0"], PROPERTIES[0])[0] == ["(1,)", "(2,)"]
    assert taken == ["_by_splitting", "_by_splitting", "_by_cutting"]

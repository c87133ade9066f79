"""JSON objects by compiled loops: what they hold is what the reader of single rows says."""

from __future__ import annotations

import json
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sharkpy.sources.cut_json import can_cut, cut_lines_of, cut_rows_of
from sharkpy.sources.json_values import JsonReader
from sharkpy.sources.rows.json_rows import JsonRows
from sharkpy.sources.source import ReadMetrics
from sharkpy.values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    ArrayType,
    DecimalType,
    Field,
    Schema,
)

SCHEMA = Schema(
    (
        Field("a", INT),
        Field("ab", STRING),
        Field("long_name_of_a_column", BIGINT),
        Field("t", TIMESTAMP),
        Field("d", DATE),
        Field("f", DOUBLE),
        Field("g", FLOAT),
        Field("m", DecimalType(9, 2)),
        Field("y", BOOLEAN),
        Field("s", SMALLINT),
        Field("i", TINYINT),
    )
)
KEYS = (*SCHEMA.names, "A", "Ab", "other", "long_name_of_a_columns", "", "é", 'q"', "back\\slash")
SPACES = st.sampled_from(["", "", "", " ", "  ", "\t", "\r", " \t "])
NUMBERS = st.one_of(
    st.integers(-200, 200).map(str),
    st.integers(-(10**30), 10**30).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**7), max_value=10**7).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
    st.sampled_from(
        ["-0", "-0.0", "0.0", "1e5", "1E-3", "1.0", "2147483648", "-32769", "128", "1e400", "007", "1.", "+1"]
    ),
)
TIMES = st.one_of(
    st.datetimes().map(lambda time: time.isoformat(" ")),
    st.datetimes().map(lambda time: time.isoformat("T")),
    st.dates().map(str),
    st.sampled_from(
        ["2024-02-30", "2024-1-1", "2024-01-01 1:02:03", "2024-01-01T00:00:00Z", "9999-12-31 23:59:59.999999"]
    ),
)
TEXTS = st.one_of(st.text(max_size=20), TIMES, NUMBERS, st.sampled_from(["", " ", "true", "NULL", "\\N", "x" * 40]))
SCALARS = st.one_of(
    NUMBERS, TEXTS.map(lambda text: json.dumps(text)), st.sampled_from(["true", "false", "null", "NaN"])
)
VALUES = st.recursive(
    st.one_of(SCALARS, TEXTS.map(lambda text: json.dumps(text, ensure_ascii=False))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: "[" + ", ".join(items) + "]"),
        st.dictionaries(st.text(max_size=3).map(json.dumps), inner, max_size=3).map(
            lambda items: "{" + ",".join(f"{key} :{value}" for key, value in items.items()) + "}"
        ),
    ),
    max_leaves=4,
)
FITTING = {
    "ab": TEXTS.map(json.dumps),
    "t": TIMES.map(json.dumps),
    "d": TIMES.map(json.dumps),
    "y": st.sampled_from(["true", "false"]),
}


@st.composite
def objects(draw: st.DrawFn) -> str:
    """Object of mostly fitting values, with spaces anywhere."""
    parts = []
    for key in draw(st.lists(st.sampled_from(KEYS), max_size=8)):
        value = draw(st.one_of(FITTING.get(key, NUMBERS), FITTING.get(key, NUMBERS), VALUES))
        space = [draw(SPACES) for _ in range(4)]
        parts.append(f"{space[0]}{json.dumps(key)}{space[1]}:{space[2]}{value}{space[3]}")
    return draw(SPACES) + "{" + (",".join(parts) or draw(SPACES)) + "}" + draw(SPACES)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Object with a character taken out, put in or changed."""
    text = draw(objects())
    place = draw(st.integers(0, len(text)))
    put = draw(st.sampled_from(["", '"', ",", "{", "}", "[", "\\", ":", "0", "\x01", "e", "-", "\ud7ff"]))
    return text[:place] + put + text[place + draw(st.integers(0, 1)) :]


LINES = st.lists(st.one_of(objects(), objects(), damaged(), VALUES, st.just("")), min_size=1, max_size=30)


def alike(found: pa.Table, expected: pa.Table) -> bool:
    # NaN is not there, and -0.0 has to stay what it is.
    return repr(found.to_pydict()) == repr(expected.to_pydict()) and found.schema.equals(expected.schema)


def is_malformed(text: str) -> bool:
    alone = ReadMetrics()
    JsonReader(SCHEMA, alone).read([text])
    return alone.malformed_lines + alone.malformed_fields > 0


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(LINES, st.booleans())
@example(['{"a": 1}', '{"a": 1, "a": 2}', '{"a": 1, "a": null}', '{"A": 3}'], True)
@example(
    ['{"other": [1, {"x": []}, "\\u00e9"], "a": 5}', '{"other": [1,], "a": 5}', '{"other": {"x" 1}, "a": 5}'], True
)
@example(['{"other": "\\x", "a": 5}', '{"other": "\\u12g4", "a": 5}', '{"other": "\\ud800", "a": 5}'], True)
@example(['{"f": -0, "g": -0, "m": -0, "a": -0}', '{"f": -0.0}', '{"f": 123456789012345678}'], False)
@example(['{"ab": "a\\tb"}', '{"ab": "a\tb"}', '{"ab": "é"}', '{"ab": ""}', '{"t": ""}'], False)
@example(['{"f": 1e9999999999999999999}', '{"a": -1E9999999999999999999}', '{"m": 0.1e-9999999999999999999}'], False)
@example(['{"ab": "\\ud800"}', '{"ab": "x\\udc00"}', '{"ab": ["\\udc00"]}', '{"\\udc00": 1, "ab": "é"}'], False)
@example(['{"a":1E-3}', '{"f": 1E-3}', '{"m": 15e-1}', '{"i": 1e1}', '{"g": 1e-1}'], False)
@example(["{}", "{ }", "{,}", '{"a":1,}', '{"a":1}}', '{"a":1} x', "[]", "7", "null", "{"], False)
def test_rows_are_those_of_the_reader_of_single_rows(lines: list[str], is_ended: bool) -> None:
    lines = [line.replace("\n", " ") for line in lines]
    data = ("\n".join(lines) + ("\n" if is_ended else "")).encode("utf-8", "surrogatepass")
    texts = data.decode("utf-8", "replace").removesuffix("\n").split("\n")
    counted, expected_counts = ReadMetrics(marks=[]), ReadMetrics(marks=[])
    if data:
        found = cut_lines_of(data, SCHEMA, counted)
        expected = JsonReader(SCHEMA, expected_counts).read(texts)
        assert alike(found.slice(0, len(texts)), expected)
        assert counted.malformed_lines == expected_counts.malformed_lines
        assert list(counted.marked()) == list(expected_counts.marked())
        assert list(expected_counts.marked()) == [row for row, text in enumerate(texts) if is_malformed(text)]
    rows = pa.array([text.encode() for text in texts], pa.binary())
    assert alike(cut_rows_of(rows, SCHEMA, ReadMetrics()), JsonReader(SCHEMA, ReadMetrics()).read(texts))
    part = rows.slice(1)
    assert alike(cut_rows_of(part, SCHEMA, ReadMetrics()), JsonReader(SCHEMA, ReadMetrics()).read(texts[1:]))


@given(st.lists(st.binary(max_size=6), max_size=5))
@settings(max_examples=200, deadline=None)
def test_bytes_that_are_no_text(pieces: list[bytes]) -> None:
    line = b'{"ab": "' + b"|".join(pieces).replace(b"\n", b"") + b'", "a": 7}'
    texts = [line.decode("utf-8", "replace")]
    assert alike(cut_lines_of(line + b"\n", SCHEMA, ReadMetrics()), JsonReader(SCHEMA, ReadMetrics()).read(texts))


def test_large_chunks_are_cut_and_small_ones_read_alike() -> None:
    lines = [f'{{"a": {n}, "ab": "text {n}", "m": {n}.25, "t": "2026-01-01 00:00:{n % 60:02}"}}' for n in range(2000)]
    data = "\n".join(lines).encode()
    reader = JsonRows().reader(SCHEMA, ["t", "a", "m", "ab"], (), ReadMetrics())
    whole = pa.Table.from_batches(list(reader.read_lines(data)))
    pieces = [pa.Table.from_batches(list(reader.read_lines(line.encode()))) for line in lines[:50]]
    assert whole.slice(0, 50).equals(pa.concat_tables(pieces).combine_chunks())
    assert whole.column("m")[1999].as_py() == Decimal("1999.25")
    by_rows = reader.read_rows(pa.array([line.encode() for line in lines], pa.binary()))
    assert pa.Table.from_batches(list(by_rows)).equals(whole)
    assert sum(batch.num_rows for batch in JsonRows().reader(SCHEMA, [], (), ReadMetrics()).read_lines(data)) == 2000


def test_keys_in_another_order_and_beyond_those_that_are_remembered() -> None:
    keys = [f"k{n}" for n in range(600)]
    lines = [json.dumps(dict.fromkeys(keys, 1) | {"a": n}) for n in range(3)]
    lines += [json.dumps({"a": n} | dict.fromkeys(reversed(keys), 1)) for n in range(3, 6)]
    found = cut_lines_of("\n".join(lines).encode(), SCHEMA, ReadMetrics())
    assert found.column("a").to_pylist() == list(range(6))


@pytest.mark.parametrize("depth", [59, 60, 61, 400])
def test_deep_values_that_nobody_wants(depth: int) -> None:
    line = '{"other": ' + "[" * depth + "]" * depth + ', "a": 1}'
    assert alike(cut_lines_of(line.encode(), SCHEMA, ReadMetrics()), JsonReader(SCHEMA, ReadMetrics()).read([line]))


def test_columns_that_are_not_cut() -> None:
    assert can_cut(SCHEMA)
    assert not can_cut(Schema((Field("a", ArrayType(INT)),)))
    assert not can_cut(Schema(tuple(Field(f"c{n}", INT) for n in range(64))))

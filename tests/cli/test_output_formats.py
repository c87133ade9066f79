"""Output formats beyond what the shell's tests show: tables that fit a terminal, files of columns."""

from __future__ import annotations

import csv
import io
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharkpy.session.output_formats import BINARY_WRITERS, OF_SUFFIX, WRITERS, Look, text_width, write_table
from sharkpy.values.types import BIGINT, DATE, STRING, DecimalType, Field, Schema, arrow_schema
from sharkpy.values.visible_text import as_visible, visible, visible_lines

SCHEMA = Schema((Field("k", BIGINT), Field("s", STRING), Field("day", DATE), Field("price", DecimalType(10, 2))))
BATCH = pa.RecordBatch.from_arrays(
    [
        pa.array([1, None], pa.int64()),
        pa.array(["a|b", "grün 🦈"]),
        pa.array([date(2024, 2, 29), None], pa.date32()),
        pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
    ],
    schema=arrow_schema(SCHEMA),
)


def written(name: str, look: Look | None = None) -> str:
    stream = io.StringIO()
    count = WRITERS[name](stream, SCHEMA, [BATCH, BATCH], look or Look())
    assert count == 4
    return stream.getvalue()


@pytest.mark.parametrize("name", [name for name in WRITERS if not name.startswith("json")])
def test_null_text(name: str) -> None:
    assert "nix" in written(name, Look(null_text="nix"))
    assert "NULL" not in written(name, Look(null_text="nix"))


@pytest.mark.parametrize("name", ["json", "jsonl"])
def test_json_has_null_of_its_own(name: str) -> None:
    assert '{"k":null,"s":"grün 🦈","day":null,"price":null}' in written(name, Look(null_text="nix"))


@pytest.mark.parametrize("name", ["json", "jsonl", "parquet"])
def test_names_that_come_twice_get_numbers(name: str) -> None:
    schema = Schema((Field("a", BIGINT), Field("a", STRING)))
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array(["x"])], names=["a", "a"])
    if name == "parquet":
        stream = io.BytesIO()
        BINARY_WRITERS[name](stream, schema, [batch])
        assert pq.read_table(stream).to_pylist() == [{"a": 1, "a_1": "x"}]
        return
    text = io.StringIO()
    WRITERS[name](text, schema, [batch])
    assert '{"a":1,"a_1":"x"}' in text.getvalue()


TEXTS = Schema((Field("s\x1b[2J", STRING), Field("k", BIGINT)))


def texts_written(name: str, values: list[str | None], look: Look | None = None) -> str:
    columns = [pa.array(values, pa.string()), pa.array(range(len(values)), pa.int64())]
    batch = pa.RecordBatch.from_arrays(columns, schema=arrow_schema(TEXTS))
    stream = io.StringIO()
    WRITERS[name](stream, TEXTS, [batch], look or Look())
    return stream.getvalue()


def test_null_empty_text_and_the_word_null_differ() -> None:
    values = [None, "", "NULL", "\\N", "-"]
    assert texts_written("csv", values).splitlines()[1:] == [",0", '"",1', "NULL,2", "\\N,3", "-,4"]
    assert texts_written("csv", values, Look("-")).splitlines()[1:] == ["-,0", ",1", "NULL,2", "\\N,3", '"-",4']
    assert texts_written("tsv", values).splitlines()[1:] == ["\\N\t0", "\t1", "NULL\t2", "\\\\N\t3", "-\t4"]


@given(st.lists(st.text(st.sampled_from('ab,"\r\n\t ')), min_size=1, max_size=5))
def test_csv_is_what_readers_expect(values: list[str]) -> None:
    text = texts_written("csv", list(values))
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert rows == [list(TEXTS.names), *([value, str(number)] for number, value in enumerate(values))]


STEERING = "\x00\x07\x1b]0;t\x7f\x9b\u2028\u202e\u2066\u061c"
SHOWN = r"\x00\x07\x1b]0;t\x7f\x9b\u2028\u202e\u2066\u061c"


def test_steering_characters_are_shown_by_their_codes() -> None:
    table = texts_written("table", [STEERING, "a\tb\nc\r"]).splitlines()
    assert len({text_width(line) for line in table}) == 1
    assert table[1].split("│")[1].strip() == r"s\x1b[2J"
    assert [line.split("│")[1].strip() for line in table[4:6]] == [SHOWN, r"a\tb\nc\r"]
    assert texts_written("vertical", [STEERING]).splitlines()[1:] == [rf"s\x1b[2J | {SHOWN}", "k        | 0"]
    assert texts_written("vertical", ["a\tb\nc"]).splitlines()[1:3] == [r"s\x1b[2J | a\tb".replace(r"\t", "\t"), "c"]


@pytest.mark.parametrize("name", ["csv", "tsv", "html", "markdown"])
def test_steering_characters_stay_in_files(name: str) -> None:
    assert STEERING in texts_written(name, [STEERING])


@pytest.mark.parametrize("text", ["grün 🦈", "👩\u200d🚀", "a\u00adb", "\ufeffx", ""])
def test_other_texts_are_shown_as_they_are(text: str) -> None:
    assert visible(text) == visible_lines(text) == text


@pytest.mark.parametrize("name", WRITERS)
def test_a_terminal_gets_no_steering_characters(name: str) -> None:
    stream = io.StringIO()
    columns = [pa.array([STEERING, None]), pa.array([1, 2])]
    WRITERS[name](as_visible(stream), TEXTS, [pa.RecordBatch.from_arrays(columns, schema=arrow_schema(TEXTS))], Look())
    assert not set(stream.getvalue()) & set(STEERING.replace("]0;t", ""))


@pytest.mark.parametrize("name", BINARY_WRITERS)
def test_files_of_columns(name: str) -> None:
    stream = io.BytesIO()
    assert BINARY_WRITERS[name](stream, SCHEMA, [BATCH, BATCH]) == 4
    content = pa.BufferReader(stream.getvalue())
    table = pq.read_table(content) if name == "parquet" else pa.ipc.open_file(content).read_all()
    assert table.equals(pa.Table.from_batches([BATCH, BATCH]))


def test_formats_of_file_names() -> None:
    assert set(OF_SUFFIX.values()) <= {*WRITERS, *BINARY_WRITERS}


@given(
    lengths=st.lists(st.integers(1, 90), min_size=1, max_size=30),
    room=st.integers(40, 200),
    wide=st.sampled_from(["x", "魚", "é"]),
)
def test_a_table_fits_the_terminal(lengths: list[int], room: int, wide: str) -> None:
    schema = Schema(tuple(Field(f"c{index}", STRING) for index in range(len(lengths))))
    batch = pa.RecordBatch.from_arrays([pa.array([wide * length]) for length in lengths], schema=arrow_schema(schema))
    stream = io.StringIO()
    write_table(stream, schema, [batch], Look(width=room))
    lines = stream.getvalue().splitlines()
    box = [line for line in lines if line[0] in "┌│├└"]
    assert len({text_width(line) for line in box}) == 1
    assert text_width(box[0]) <= room
    cells = box[1].strip("│").split("│")
    if " … " in cells:
        assert lines[-1].startswith(f"{len(lengths)} columns, {len(cells) - 1} shown")
    else:
        assert lines[-1] == box[-1]

"""Output formats beyond what the shell's tests show: tables that fit a terminal, files of columns."""

from __future__ import annotations

import io
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharkpy.session.writers import BINARY_WRITERS, OF_SUFFIX, WRITERS, Look, text_width, write_table
from sharkpy.values.types import BIGINT, DATE, STRING, DecimalType, Field, Schema, arrow_schema

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

"""Damage to a block's file is found before anything is read from it."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from sharkpy.base.errors import CorruptionError
from sharkpy.columnar.block import Block, encode_block, encode_blocks
from sharkpy.values import types as t
from tests.columnar.columns import TYPES, column

SCHEMA = t.Schema(tuple(t.Field(f"c{index}", dtype) for index, dtype in enumerate(TYPES)))


def small_table(rows: int = 200) -> pa.Table:
    shapes = ("wide", "few", "runs", "sorted", "narrow")
    return pa.table({f.name: column(f.dtype, rows, "some", shapes[i % 5], i) for i, f in enumerate(SCHEMA)})


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return small_table()


@pytest.fixture(scope="module")
def content(table: pa.Table) -> bytes:
    return encode_block(table, SCHEMA).content.to_pybytes()


def read_all(content: bytes) -> pa.Table:
    block = Block.from_buffer(pa.py_buffer(content), "b1.arrow")
    return block.read(block.names, decoded=True)


def equal(left: pa.Table, right: pa.Table) -> bool:
    return str(left.to_pylist()) == str(right.to_pylist())


def test_what_was_written_comes_back(table: pa.Table, content: bytes) -> None:
    assert Block.from_buffer(pa.py_buffer(content)).names == SCHEMA.names
    assert equal(read_all(content), table)


def test_single_bit_flips_never_change_what_is_read(table: pa.Table, content: bytes) -> None:
    rng = random.Random(7)
    places = [*range(400), *range(len(content) - 400, len(content)), *rng.choices(range(len(content)), k=1500)]
    refused = 0
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.randrange(8)
        try:
            read = read_all(bytes(damaged))
        except CorruptionError as error:
            refused += 'block "b1"' in error.message
            continue
        assert equal(read, table), place
    assert refused > len(places) // 2


@pytest.mark.parametrize("num_columns", [1, 40, 50, 3000])
def test_a_block_has_any_number_of_columns(num_columns: int) -> None:
    """Names, types and statistics of all columns take megabytes."""
    values = [f"value-{index}" for index in range(60)]
    schema = t.Schema(tuple(t.Field(f"{'long' * 50}{index}", t.STRING) for index in range(num_columns)))
    block = Block.from_buffer(encode_block(pa.table(dict.fromkeys(schema.names, values)), schema).content)
    block.verify()
    read = block.read([schema.names[0], schema.names[-1]], decoded=True)
    assert [column.to_pylist() for column in read.columns] == [values, values]
    assert block.statistics[schema.names[-1]].distinct == tuple(sorted(value.encode() for value in values))


def test_truncations_are_refused(content: bytes) -> None:
    rng = random.Random(3)
    for length in [*range(64), len(content) - 1, *rng.choices(range(len(content)), k=300)]:
        with pytest.raises(CorruptionError):
            Block.from_buffer(pa.py_buffer(content[:length]))


def test_damage_names_the_block_and_the_column_and_spares_the_others(tmp_path: Path) -> None:
    schema = t.Schema((t.Field("good", t.BIGINT), t.Field("bad", t.STRING)))
    texts = [f"text number {index}" for index in range(500)]
    encoded = encode_block(pa.table({"good": range(500), "bad": texts}), schema, force_encoding="plain")
    data = bytearray(encoded.content.to_pybytes())
    data[bytes(data).index(b"text number 250")] ^= 4
    path = tmp_path / "abc.arrow"
    path.write_bytes(data)
    block = Block.open(str(path))
    assert block.read(["good"]).column(0).to_pylist() == list(range(500))
    for _ in range(2):
        with pytest.raises(CorruptionError, match=r'block "abc" is damaged: column "bad"'):
            block.read(["bad"])
    assert Block.open(str(path), verify=False).read(["bad"]).num_rows == 500


def test_a_column_is_read_without_the_texts_of_others() -> None:
    schema = t.Schema(tuple(t.Field(f"c{index}", t.STRING) for index in range(100)))
    table = pa.table({name: [f"{name}-{row}" for row in range(80)] for name in schema.names})
    content = encode_block(table, schema).content.to_pybytes()
    damaged = bytearray(content)
    for name in schema.names:
        if name != "c7":
            place = content.index(f'{{"name":"{name}"'.encode())
            damaged[place : place + 2] = b"xx"
    block = Block.from_buffer(pa.py_buffer(bytes(damaged)))
    assert block.read(["c7"], decoded=True).column(0).equals(table.column("c7"))
    assert "c8" in block
    assert "c100" not in block
    with pytest.raises(CorruptionError, match="the layout of a column"):
        block.read(["c8"])


@pytest.mark.parametrize("text", [b'["c1","', b'{"name":"c1"'])
def test_damaged_texts_are_found_with_statistics(content: bytes, text: bytes) -> None:
    damaged = bytearray(content)
    damaged[content.index(text)] ^= 1
    block = Block.from_buffer(pa.py_buffer(bytes(damaged)))
    with pytest.raises(CorruptionError, match="its layouts and statistics"):
        _ = block.statistics


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.arrow"
    for data in (b"", b"ARROW1", b"hello world" * 100):
        path.write_bytes(data)
        with pytest.raises(CorruptionError):
            Block.open(str(path))
    with pa.ipc.new_file(str(path), pa.schema([("a", pa.int64())])) as writer:
        writer.write_table(pa.table({"a": [1]}))
    with pytest.raises(CorruptionError):
        Block.open(str(path))
    with pytest.raises(FileNotFoundError):
        Block.open(str(tmp_path / "none.arrow"))


def test_what_was_read_outlives_the_file(tmp_path: Path, table: pa.Table, content: bytes) -> None:
    path = tmp_path / "b.arrow"
    path.write_bytes(content)
    block = Block.open(str(path))
    read = block.read(block.names, decoded=True)
    path.unlink()
    del block
    assert equal(read, table)


def test_no_columns_keep_their_number_of_rows(content: bytes) -> None:
    assert Block.from_buffer(pa.py_buffer(content)).read([]).num_rows == 200


def test_columns_in_other_arrow_types_are_cast() -> None:
    schema = t.Schema((t.Field("s", t.STRING), t.Field("n", t.DecimalType(10, 2)), t.Field("d", t.DATE)))
    given = pa.table(
        {
            "s": pa.chunked_array([pa.array(["a"]).cast(pa.string_view()), pa.array(["b"]).cast(pa.string_view())]),
            "n": pa.array([1, 2], pa.int32()),
            "d": pa.array([0, 86_400_000], pa.date64()),
        }
    )
    block = Block.from_buffer(encode_block(given, schema).content)
    assert block.read(schema.names, decoded=True).schema == pa.schema(
        [("s", pa.string()), ("n", pa.decimal128(10, 2)), ("d", pa.date32())]
    )


@pytest.mark.parametrize(("block_rows", "sizes"), [(1000, [200]), (90, [67, 67, 66])])
def test_pieces_of_columns_become_the_same_blocks_as_the_table(
    table: pa.Table, block_rows: int, sizes: list[int]
) -> None:
    pieces = (table.select(table.column_names[start : start + 3]) for start in range(0, table.num_columns, 3))
    blocks = encode_blocks(pieces, SCHEMA, block_rows)
    assert [block.num_rows for block in blocks] == sizes
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    for block, start in zip(blocks, starts, strict=True):
        assert block.content == encode_block(table.slice(start, block.num_rows), SCHEMA).content
    assert encode_blocks([table.slice(0, 0)], SCHEMA, block_rows) == []

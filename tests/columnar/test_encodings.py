"""Encodings: every encoding × type × null pattern × length is restored exactly, through the bytes of a block's file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.base.errors import ConfigurationError
from sharkpy.columnar import encodings, kernels, profile
from sharkpy.columnar.block import Block, encode_block
from sharkpy.columnar.encoded_column import Decoded, DictionaryForm, NarrowForm
from sharkpy.columnar.profile import ColumnProfile
from sharkpy.values import types as t
from tests.columnar.columns import LENGTHS, NULL_PATTERNS, SHAPES, TYPES, column, same
from tests.examples import examples

NAMES = ("", *(codec.name for codec in encodings.CODECS))


def round_trip(array: pa.Array, dtype: t.DataType, encoding: str) -> Block:
    schema = t.Schema((t.Field("x", dtype),))
    encoded = encode_block(pa.table({"x": array}), schema, force_encoding=encoding)
    block = Block.from_buffer(encoded.content)
    read = block.read(["x"], decoded=True).column(0).combine_chunks()
    read = read.chunk(0) if isinstance(read, pa.ChunkedArray) else read
    read.validate(full=True)
    assert same(read, array)
    assert block.num_rows == len(array)
    assert block.statistics == encoded.statistics
    check_forms(block, array, dtype)
    return block


def check_forms(block: Block, array: pa.Array, dtype: t.DataType) -> None:
    loose = block.read(["x"]).column(0)
    if isinstance(loose.type, pa.DictionaryType):
        assert loose.cast(t.to_arrow(dtype)).combine_chunks().equals(array)
    match block.scan_forms(["x"])["x"]:
        case Decoded(values):
            assert same(values, array)
        case DictionaryForm(values):
            assert values.cast(array.type).equals(array)
        case NarrowForm(codes, base, factor, _) as form:
            integers = [None if code is None else base + factor * code for code in codes.to_pylist()]
            expected = array.to_pylist()
            if isinstance(dtype, t.DecimalType):
                assert integers == [None if v is None else int(v.scaleb(form.scale)) for v in expected]
            elif dtype == t.DATE:
                assert integers == array.cast(pa.int32()).to_pylist()
            elif dtype == t.TIMESTAMP:
                assert integers == array.cast(pa.int64()).to_pylist()
            else:
                assert integers == expected


@pytest.mark.variants(3)
@pytest.mark.parametrize("encoding", NAMES)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@settings(max_examples=examples(25), deadline=None)
@given(
    num_rows=st.sampled_from(LENGTHS[:-1]),
    nulls=st.sampled_from(NULL_PATTERNS),
    shape=st.sampled_from(SHAPES),
    seed=st.integers(0, 1 << 30),
)
def test_round_trip(encoding: str, dtype: t.DataType, num_rows: int, nulls: str, shape: str, seed: int) -> None:
    round_trip(column(dtype, num_rows, nulls, shape, seed), dtype, encoding)


@pytest.mark.variants(3)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_round_trip_of_many_rows(dtype: t.DataType) -> None:
    rows = LENGTHS[-1] if not t.is_nested(dtype) else 4097
    for index, shape in enumerate(SHAPES):
        array = column(dtype, rows, NULL_PATTERNS[index % 3 * 2 % 5], shape, index)
        for encoding in ("", NAMES[1 + index % (len(NAMES) - 1)], NAMES[1 + (index + 5) % (len(NAMES) - 1)]):
            round_trip(array, dtype, encoding)


@pytest.mark.variants(3)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_slices_keep_their_place(dtype: t.DataType) -> None:
    array = column(dtype, 300, "some", "wide", 5).slice(13, 201)
    for encoding in NAMES:
        round_trip(array, dtype, encoding)


@pytest.mark.parametrize(
    ("dtype", "shape", "expected"),
    [
        (t.BIGINT, "constant", "constant"),
        (t.BIGINT, "sorted", "delta"),
        (t.BIGINT, "runs", "run_length"),
        (t.BIGINT, "few", "dictionary"),
        (t.BIGINT, "wide", "plain"),
        (t.DecimalType(18, 4), "narrow", "bit_packed"),
        (t.BOOLEAN, "wide", "boolean"),
        (t.STRING, "few", "dictionary"),
    ],
)
def test_choice(dtype: t.DataType, shape: str, expected: str) -> None:
    block = round_trip(column(dtype, 20_000, "none", shape, 3), dtype, "")
    assert block.encoding("x") == expected


def test_choice_of_packing_where_it_saves_a_quarter() -> None:
    values = pa.array([(index * 7919) % 200_000 for index in range(100_000)], pa.int64())
    assert round_trip(values, t.BIGINT, "").encoding("x") == "bit_packed"


def test_no_dictionary_is_built_for_integers_if_it_cannot_pay() -> None:
    keys = pa.array([index // 4 * 7919 % 1_000_003 for index in range(400_000)], pa.int64())
    given = ColumnProfile(keys, t.BIGINT)
    assert encodings.encode(given).encoding == "bit_packed"
    assert "dictionary" not in given.__dict__
    wide = pa.array([(index % 1500) ** 5 - index % 1500 for index in range(100_000)], pa.int64())
    block = round_trip(wide, t.BIGINT, "")
    assert (block.encoding("x"), block.stored("x").parts["codes"].type) == ("dictionary", pa.uint16())


def test_texts_that_repeat_seldom_in_a_sample_are_a_dictionary() -> None:
    numbers = np.random.default_rng(3).integers(0, 10_000, 200_000)
    given = ColumnProfile(pa.array([f"name {number:09}" for number in numbers]), t.STRING)
    assert given.sample_distinct > 0.8 * len(given.sample)
    assert encodings.encode(given).encoding == "dictionary"
    assert given.num_distinct == 10_000


def test_choice_of_long_different_texts() -> None:
    texts = pa.array([f"the parcel {index} was sent by carrier {index * 31} without delay" for index in range(10_000)])
    assert round_trip(texts, t.STRING, "").encoding("x") == "block"


def test_prices_in_doubles_are_scaled() -> None:
    values = pa.array([index % 5000 / 100 for index in range(70_000)])
    assert round_trip(values, t.DOUBLE, "").encoding("x") == "scaled"


def test_doubles_are_scaled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    values, calls = pa.array([index % 5000 / 100 for index in range(70_000)]), list[int]()
    scale = kernels.scale_floats

    def counted(floats: profile.Array, power: float, out: profile.Array) -> bool:
        calls.append(len(floats))
        return scale(floats, power, out)

    monkeypatch.setattr(kernels, "scale_floats", counted)
    assert encodings.encode(ColumnProfile(values, t.DOUBLE)).encoding == "scaled"
    assert calls.count(len(values)) == 1


@pytest.mark.parametrize(
    "text",
    ["name {:09}", "{}", "\0" * 9 + "{:x}", "{:b}", "é{:05}é", "{:07}\0"],
    ids=["prefix", "lengths", "zeros", "bits", "letters", "end"],
)
@pytest.mark.parametrize("dtype", [pa.string(), pa.binary()], ids=str)
def test_dictionaries_are_sorted_by_bytes(text: str, dtype: pa.DataType) -> None:
    """Whether the first bytes decide the order or not, as for strings that differ only by zeros at their ends."""
    numbers = np.random.default_rng(5).permutation(2 * profile._MANY_STRINGS)
    distinct = [text.format(number) for number in numbers] + ["", "\0", "\0\0"] * ("\0" in text)
    values = pa.array(distinct * 2).cast(dtype)
    codes, found = profile.build_dictionary(values.slice(1))
    assert found.cast(pa.binary()).to_pylist() == sorted(one.encode() for one in distinct)
    assert found.take(pa.array(codes)).equals(values.slice(1))


def test_extremes_of_64_bits() -> None:
    values = pa.array([-(1 << 63), (1 << 63) - 1, 0, -1, None], pa.int64())
    for encoding in NAMES:
        round_trip(values, t.BIGINT, encoding)


def test_base_zero_and_common_factor() -> None:
    encoded = encodings.encode(ColumnProfile(pa.array([100, 5000, 300] * 100, pa.int64()), t.BIGINT), "narrow")
    assert encoded.params == {"base": 0, "factor": 100}
    assert encoded.parts["codes"].type == pa.uint8()


def test_unknown_encoding_is_refused() -> None:
    with pytest.raises(ConfigurationError, match='no encoding "dictionry"'):
        encodings.encode(ColumnProfile(pa.array([1]), t.BIGINT), "dictionry")


def _coded(values: list[str], indices: list[int]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(values))


@pytest.mark.variants(3)
@pytest.mark.parametrize("force", NAMES)
@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([_coded(["b", "a", "unused", "ü"], [0, 1, 3, 0] * 3000)]),
        pa.chunked_array([_coded(["b", "a"], [0, 1, 1]), _coded(["c", "b"], [1, 0])]),
        pa.chunked_array([_coded(["same", "same", ""], [0, 1, 2, 0]).slice(1)]),
        pa.chunked_array([_coded(["only"], [0] * 5000)]),
        pa.chunked_array([_coded([f"{i:05}" * 9 for i in range(3000)], list(range(3000)) * 2)]),
        pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([0, None, 1], pa.int32()), pa.array(["x", "y"]))]),
    ],
    ids=["many", "chunks", "twice the same", "constant", "long", "nulls"],
)
def test_strings_given_as_a_dictionary(column: pa.ChunkedArray, force: str) -> None:
    """Equal in values and statistics to the same strings given one by one."""
    schema = t.Schema((t.Field("s", t.STRING),))
    plain = encode_block(pa.table({"s": column.cast(pa.string())}), schema, force_encoding=force)
    coded = encode_block(pa.table({"s": column}), schema, force_encoding=force)
    for encoded in (plain, coded):
        block = Block.from_buffer(encoded.content)
        assert block.read(["s"], decoded=True).column(0).to_pylist() == column.to_pylist()
    assert coded.encodings == plain.encodings
    # The number of values is only estimated if strings have to be hashed for it.
    one, other = (replace(encoded.statistics["s"], num_distinct=0, sketch=None) for encoded in (plain, coded))
    assert one == other

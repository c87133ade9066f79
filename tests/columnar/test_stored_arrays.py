"""Arrays of any lengths and types in one block: the same arrays are read, or there is an error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from sharkpy.base.errors import CorruptionError
from sharkpy.columnar.block import Block, StoredArrays, encode_arrays

RECORD = np.dtype([("rank", "<f8"), ("place", "<i4", (2,)), ("inner", [("flag", "?")])])
dtypes = st.one_of(
    npst.boolean_dtypes(),
    npst.integer_dtypes(endianness="<"),
    npst.floating_dtypes(sizes=(32, 64), endianness="<"),
    st.just(RECORD),
)
arrays = st.dictionaries(
    st.text("abc ", min_size=1, max_size=4),
    dtypes.flatmap(lambda dtype: npst.arrays(dtype, st.integers(0, 20))),
    max_size=5,
)


def stored(given: dict[str, np.ndarray]) -> StoredArrays:
    return StoredArrays(Block.from_buffer(encode_arrays(given).content))


@settings(deadline=None)
@given(arrays)
def test_arrays_come_back(given: dict[str, np.ndarray]) -> None:
    found = stored(given)
    assert list(found) == list(given)
    for name, array in given.items():
        assert found[name].dtype == array.dtype
        assert found[name].tobytes() == array.tobytes()


def test_a_view_with_gaps_is_stored_whole() -> None:
    assert stored({"even": np.arange(10)[::2]})["even"].tolist() == [0, 2, 4, 6, 8]


def test_they_are_mapped_and_read_only(tmp_path: Path) -> None:
    path = tmp_path / "block.arrow"
    path.write_bytes(encode_arrays({"numbers": np.arange(1000)}).content)
    block = Block.open(str(path))
    numbers = StoredArrays(block)["numbers"]
    assert not numbers.flags.owndata
    with pytest.raises(ValueError, match="read-only"):
        numbers[0] = 1
    path.unlink()
    assert numbers.sum() == 499_500


def test_a_damaged_array_is_an_error_and_the_others_are_not() -> None:
    content = bytearray(encode_arrays({"one": np.full(50, 7), "other": np.full(50, 9)}).content)
    place = content.index(np.full(50, 9).tobytes())
    content[place + 13] ^= 4
    found = StoredArrays(Block.from_buffer(pa.py_buffer(bytes(content))))
    assert found["one"].tolist() == [7] * 50
    with pytest.raises(CorruptionError, match='column "other"'):
        found["other"]


def test_there_is_no_other_array() -> None:
    found = stored({"one": np.arange(3)})
    assert found.get("two") is None
    with pytest.raises(KeyError):
        found["two"]


@pytest.mark.parametrize("array", [np.zeros((2, 2)), np.array(["a", None], object)])
def test_what_cannot_be_stored(array: np.ndarray) -> None:
    with pytest.raises(TypeError, match="cannot be stored"):
        encode_arrays({"array": array})

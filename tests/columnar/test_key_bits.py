"""Sets of integers as bits, against Python's sets."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.columnar.value_sets import MOST_SPAN, key_bits

TYPES = {pa.int8(): 7, pa.int16(): 15, pa.int32(): 31, pa.int64(): 63}


@settings(deadline=None)
@given(data=st.data(), built=st.sampled_from(list(TYPES)), probed=st.sampled_from(list(TYPES)))
def test_places_are_those_of_the_keys(data: st.DataObject, built: pa.DataType, probed: pa.DataType) -> None:
    middle = data.draw(st.integers(-(1 << TYPES[built]) + 100, (1 << TYPES[built]) - 101))
    near = st.integers(middle - 100, middle + 100)
    keys = pa.chunked_array([data.draw(st.lists(near | st.none())), data.draw(st.lists(near))], built)
    found = key_bits(keys)
    wanted = set(keys.drop_null().to_pylist())
    if not wanted:
        assert found is None
        return
    assert found is not None
    assert found.count == len(wanted)
    limit = 1 << TYPES[probed]
    anything = st.integers(-limit, limit - 1) | near.filter(lambda value: -limit <= value < limit) | st.none()
    rows = data.draw(st.lists(anything))
    column = pa.array([None, *rows], probed).slice(1)
    assert found.places(column).to_pylist() == [place for place, row in enumerate(rows) if row in wanted]


@pytest.mark.parametrize("values", [[0, MOST_SPAN], [None], [], [1.5]])
def test_no_bits(values: list[float | None]) -> None:
    column = pa.chunked_array([values], pa.float64() if values == [1.5] else pa.int64())
    assert key_bits(column) is None

"""Arrays, data frames and blocks as training data: shapes, names, types, and the policies for missing values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sharkpy.base.errors import ColumnNotFoundError, DataError, ParameterError, SharkError, TypeMismatchError
from sharkpy.ml.features.feature_blocks import ArrayBlocks, FeatureBlocks
from sharkpy.ml.features.training_data import training_blocks

NAN, INF = float("nan"), float("inf")


def whole(blocks: FeatureBlocks) -> tuple[np.ndarray, np.ndarray | None]:
    found = blocks.run(lambda block, _: (block.X, block.y))
    labels = np.concatenate([y for _, y in found]) if blocks.has_label else None
    return np.concatenate([X for X, _ in found]), labels


@settings(max_examples=50, deadline=None)
@given(
    data=arrays.arrays(
        st.sampled_from([np.float32, np.float64, np.int16, np.int64, np.bool_]),
        st.tuples(st.integers(1, 40), st.integers(1, 5)),
    )
)
def test_an_array_comes_back(data: np.ndarray) -> None:
    assume(np.isfinite(data).all())
    blocks = training_blocks(data, np.arange(len(data)))
    X, y = whole(blocks)
    assert blocks.dtype == (np.float32 if data.dtype == np.float32 else np.float64)
    np.testing.assert_array_equal(X, data.astype(blocks.dtype))
    np.testing.assert_array_equal(y, np.arange(len(data)))
    assert blocks.num_rows == len(data)


def test_lists_frames_and_tables_are_the_same() -> None:
    rows = [[1, 2.5], [3, 4.5]]
    frame = pd.DataFrame(rows, columns=["a", "b"])
    for data in (rows, np.array(rows), frame, pa.Table.from_pandas(frame), ArrayBlocks.of(rows)):
        X, y = whole(training_blocks(data))
        assert X.tolist() == rows
        assert y is None
    assert training_blocks(frame).names == ("a", "b")
    assert training_blocks(np.array(rows), features=["u", "v"]).names == ("u", "v")
    assert training_blocks(frame, features=["b"]).names == ("b",)


def test_the_label_may_be_a_column_of_a_frame() -> None:
    frame = pd.DataFrame({"a": [1, 2], "y": [0, 1], "b": [3, 4]})
    blocks = training_blocks(frame, "y")
    assert blocks.names == ("a", "b")
    assert whole(blocks)[1].tolist() == [0, 1]  # type: ignore[union-attr]


def test_the_type_is_the_one_asked_for() -> None:
    assert training_blocks([[1.0]], dtype="float32").dtype == np.float32
    assert training_blocks(np.ones((2, 2), np.float32)).dtype == np.float32
    assert training_blocks(np.ones((2, 2), np.float32), dtype="float64").dtype == np.float64


@pytest.mark.parametrize(
    ("data", "arguments", "error", "text"),
    [
        ([1, 2], {}, DataError, "1 dimensions, not 2"),
        ([[1], [1, 2]], {}, DataError, "different lengths"),
        (np.ones((0, 2)), {}, DataError, "no rows"),
        (np.ones((2, 0)), {}, DataError, "no columns"),
        ([[1], [2]], {"y": [1]}, DataError, "1 labels for 2 rows"),
        ([[1], [2]], {"y": [[1, 2], [1, 2]]}, DataError, "2 dimensions"),
        ([["x", 1]], {}, TypeMismatchError, 'column "x0" is not numeric'),
        ([[1]], {"y": ["yes"]}, TypeMismatchError, 'label "y" is not numeric'),
        (np.array([[1j]]), {}, TypeMismatchError, "complex128"),
        (np.array([["2020-01-01"]], "datetime64[D]"), {}, TypeMismatchError, "datetime64"),
        ([[1]], {"features": ["a", "b"]}, DataError, "2 names for 1 columns"),
        ([[1]], {"dtype": "int32"}, TypeMismatchError, "int32"),
        ([[1]], {"na": "dorp"}, ParameterError, 'did you mean "drop"'),
        (pd.DataFrame({"age": [1]}), {"features": ["aeg"]}, ColumnNotFoundError, 'did you mean "age"'),
        (pd.DataFrame({"s": ["x"]}), {}, TypeMismatchError, "OneHotEncoder"),
        ([[1, NAN], [2, NAN]], {}, DataError, 'column "x1" has 2 missing values'),
        ([[1, INF]], {}, DataError, 'column "x1" has 1 infinite value'),
        ([[1, INF]], {"na": "drop"}, DataError, "infinite"),
        ([[1]], {"y": [NAN]}, DataError, 'label "y" has 1 missing value'),
        ([[1]], {"y": [NAN], "na": "mean"}, DataError, 'label "y" has 1 missing value'),
        ([[NAN]], {"na": "drop"}, DataError, "no row is left"),
        ([[NAN]], {"na": "mean"}, DataError, 'column "x0" has no value'),
        (ArrayBlocks.of([[1]]), {"features": ["a"]}, DataError, "neither y nor features"),
    ],
    ids=lambda value: value.replace(" ", "_") if isinstance(value, str) else "",
)
def test_bad_data(data: object, arguments: dict[str, object], error: type[SharkError], text: str) -> None:
    with pytest.raises(error) as raised:
        training_blocks(data, **arguments)  # type: ignore[arg-type]
    assert text in str(raised.value)
    assert "\n" not in str(raised.value)


def test_missing_values_are_dropped_or_filled() -> None:
    data = [[1.0, NAN], [2.0, 4.0], [None, 6.0], [5.0, 8.0]]
    X, y = whole(training_blocks(data, [0, 1, 2, NAN], na="drop"))
    assert X.tolist() == [[2.0, 4.0]]
    assert y is not None
    assert y.tolist() == [1]
    X, y = whole(training_blocks(data, [0, 1, 2, 3], na="mean"))
    assert X.tolist() == [[1.0, 6.0], [2.0, 4.0], [8 / 3, 6.0], [5.0, 8.0]]


def test_na_of_pandas_is_missing() -> None:
    frame = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": pd.array([True, False, True], "boolean")})
    with pytest.raises(DataError, match='column "a" has 1 missing value'):
        training_blocks(frame)
    assert whole(training_blocks(frame, na="drop"))[0].tolist() == [[1.0, 1.0], [3.0, 1.0]]


def test_an_overflow_of_the_sum_is_no_infinity() -> None:
    assert training_blocks([[1e308], [1e308]]).num_rows == 2

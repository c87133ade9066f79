"""Parameters, fitted state and model files, of a small model of the tests' own."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sharkpy.base.errors import DataError, NotFittedError, ParameterError, SourceError, UnsupportedError
from sharkpy.ml.features.feature_blocks import FeatureBlock
from sharkpy.ml.features.training_data import training_blocks
from sharkpy.ml.models import model_json
from sharkpy.ml.models.estimator import (
    BOOLEAN,
    SEED,
    Estimator,
    check_features,
    integer_at_least,
    number_above,
    number_at_least,
    one_of,
)
from sharkpy.ml.models.predictor import Predictor
from sharkpy.ml.public_names import MODULES
from sharkpy.values.types import DOUBLE, DataType


class Centre(Predictor):
    """Model of the tests: sums of each row's values above the columns' means."""

    parameter_rules = {"scale": number_above(0), "kind": one_of("mean", "median")}

    def __init__(self, scale: float = 1.0, *, kind: str = "mean", seed: Any = None) -> None:
        self.scale = scale
        self.kind = kind
        self.seed = seed

    def fit(self, data: object, y: object = None, *, na: str = "error") -> Centre:
        self._check_parameters()
        blocks = training_blocks(data, na=na)
        check_features(blocks, self)
        total = np.sum(blocks.run(column_sums), axis=0)
        self._set_features(blocks)
        self.centre_ = total / blocks.num_rows
        return self

    @property
    def prediction_type(self) -> DataType:
        return DOUBLE

    def _predicted(self, X: np.ndarray) -> np.ndarray:
        return (X - self.centre_).sum(axis=1) * self.scale


def column_sums(block: FeatureBlock, argument: None) -> np.ndarray:
    return block.X.sum(axis=0)


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODULES, "Centre", __name__)


X = np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 1.0]])


def test_parameters_are_stored_as_given() -> None:
    seed = object()
    model = Centre(2, kind="median", seed=seed)
    assert model.get_params() == {"scale": 2, "kind": "median", "seed": seed}
    assert model.set_params(scale=3, seed=None) is model
    assert (model.scale, model.kind, model.seed) == (3, "median", None)
    assert model.clone().get_params() == model.get_params()


def test_repr_shows_what_is_not_default() -> None:
    assert repr(Centre()) == "Centre()"
    assert repr(Centre(2.5, kind="median")) == "Centre(scale=2.5, kind='median')"


def test_unknown_parameter_changes_nothing() -> None:
    model = Centre()
    with pytest.raises(ParameterError, match='Centre has no parameter "scal"; did you mean "scale"'):
        model.set_params(kind="median", scal=2)
    assert model.kind == "mean"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scale": 0}, 'parameter "scale" of Centre must be a number above 0, not 0'),
        ({"scale": "big"}, "parameter \"scale\" of Centre must be a number above 0, not 'big'"),
        ({"scale": float("nan")}, "must be a number above 0, not nan"),
        ({"scale": True}, "must be a number above 0, not True"),
        ({"kind": "mode"}, 'parameter "kind" of Centre must be "mean" or "median", not \'mode\''),
    ],
    ids=["low", "text", "nan", "boolean", "choice"],
)
def test_fit_checks_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as error:
        Centre(**parameters).fit(X)
    assert message in str(error.value)


def test_rules() -> None:
    assert SEED.holds(None)
    assert SEED.holds(np.int64(3))
    assert not SEED.holds(-1)
    assert not SEED.holds(1.5)
    assert integer_at_least(1).holds(1)
    assert not integer_at_least(1).holds(True)
    assert number_at_least(0).holds(np.float32(0))
    assert number_above(0).holds(float("inf"))
    assert BOOLEAN.holds(False)
    assert not BOOLEAN.holds(0)


def test_not_fitted() -> None:
    for use in (lambda model: model.predict(X), lambda model: model.predict_arrays([]), lambda model: model.save("m")):
        with pytest.raises(NotFittedError, match="this Centre is not fitted yet; call fit first"):
            use(Centre())
    assert not Centre().is_fitted


def test_a_failing_fit_leaves_the_model_as_it_was() -> None:
    model = Centre().fit(X)
    before = model.to_json()
    with pytest.raises(DataError):
        model.fit(np.array([[np.nan, 1.0]]))
    assert model.to_json() == before


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (X[:, :1], "the data has 1 features; this Centre was fitted with 2: x0, x1"),
        (X[0], "the data has 1 dimensions, not 2"),
        ([[1, 2], [3]], "different lengths"),
        ([["a", "b"]], "is not numeric"),
        ([[1, np.nan]], 'column "x1" has 1 missing value (NULL or NaN)'),
        ([[np.inf, 1]], 'column "x0" has 1 infinite value'),
    ],
    ids=["columns", "dimensions", "ragged", "text", "nan", "infinity"],
)
def test_input_that_does_not_fit(data: object, message: str) -> None:
    with pytest.raises(Exception) as error:
        Centre().fit(X).predict(data)
    assert message in str(error.value)


def test_data_frames_are_read_by_column_name() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    model = Centre().fit(frame)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    shuffled = frame.assign(other=["u", "v", "w"])[["other", "b", "a"]]
    np.testing.assert_array_equal(model.predict(shuffled), model.predict(X))
    np.testing.assert_array_equal(Centre().fit(X).predict(frame), model.predict(X))


def test_predict_arrays_is_predict() -> None:
    model = Centre(0.5).fit(X)
    np.testing.assert_array_equal(model.predict_arrays([X[:, 0], X[:, 1]]), model.predict(X))
    integers = [np.array([1, 2], np.int32), np.array([3, 4], np.int64)]
    np.testing.assert_array_equal(model.predict_arrays(integers), model.predict([[1, 3], [2, 4]]))
    assert model.predict_arrays([X[:0, 0], X[:0, 1]]).shape == (0,)
    with pytest.raises(DataError, match="1 columns were given; this Centre was fitted with 2: x0, x1"):
        model.predict_arrays([X[:, 0]])
    with pytest.raises(DataError, match='column "x1" has 1 missing value'):
        model.predict_arrays([np.ones(1), np.array([np.nan])])


def test_predictions_of_many_blocks_are_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    many = np.arange(600_000.0).reshape(-1, 1)
    model = Centre().fit(many)
    np.testing.assert_array_equal(model.predict(many), many[:, 0] - model.centre_)


def test_no_rows_no_features() -> None:
    class Nothing:
        names: tuple[str, ...] = ()
        num_rows = 0

    with pytest.raises(DataError, match="Centre needs at least one feature"):
        check_features(Nothing(), Centre())  # type: ignore[arg-type]
    Nothing.names = ("a",)
    with pytest.raises(DataError, match="Centre needs at least one row"):
        check_features(Nothing(), Centre())  # type: ignore[arg-type]


# Model files


def test_save_and_load(tmp_path: Path, public: None) -> None:
    path = tmp_path / "model.json"
    model = Centre(1 / 3, kind="median", seed=(1, None)).fit(X)
    model.save(path)
    for loaded in (
        Estimator.load(path),
        Predictor.load(path),
        Centre.load(str(path)),
        Estimator.from_json(path.read_text()),
    ):
        assert type(loaded) is Centre
        assert loaded.get_params() == model.get_params()
        assert vars(loaded).keys() == vars(model).keys()
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]


def test_saving_replaces_the_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    Centre().fit(X).save(path)
    before = path.read_bytes()
    with pytest.raises(UnsupportedError, match='Centre cannot be saved: "seed" holds a function'):
        Centre(seed=lambda: 1).fit(X).save(path)
    assert path.read_bytes() == before
    Centre(2).fit(X).save(path)
    assert Centre.load(path).scale == 2
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]


def test_a_write_that_fails_leaves_the_file_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.json"
    Centre().fit(X).save(path)
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(model_json, "os", SimpleNamespace(fsync=full))
    with pytest.raises(SourceError, match=r"cannot write the model to .*: No space left on device"):
        Centre(2).fit(X).save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]


def test_a_class_given_by_name_loads_its_own(tmp_path: Path, public: None) -> None:
    class Other(Centre):
        pass

    with pytest.raises(SourceError, match="the text holds a Centre, not a Other"):
        Other.from_json(Centre().to_json())


GOOD = json.loads(Centre().fit(X).to_json())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a model of sharkpy"),
        ("\x00\x01", "is not a model of sharkpy"),
        ("[1]", "is not a model of sharkpy"),
        ('{"format": "other"}', "is not a model of sharkpy"),
        (json.dumps(GOOD)[:-20], "is not a model of sharkpy"),
        (json.dumps(GOOD | {"version": 2}), "is a model of format version 2; this sharkpy reads version 1"),
        (json.dumps(GOOD | {"class": "os.system"}), 'holds a model of the unknown class "os.system"'),
        (json.dumps(GOOD | {"class": "__name__"}), 'holds a model of the unknown class "__name__"'),
        (json.dumps({k: v for k, v in GOOD.items() if k != "fitted"}), "is a damaged model: KeyError: 'fitted'"),
        (json.dumps(GOOD | {"parameters": {"size": 1}}), "is a damaged model"),
        (json.dumps(GOOD | {"parameters": 3}), "is a damaged model"),
        (json.dumps(GOOD | {"fitted": {"predict": 1}}), '"predict" is not a fitted attribute'),
        (json.dumps(GOOD | {"fitted": {"centre_": {"array": ["<f8", [3], [1.0]]}}}), "is a damaged model"),
        (json.dumps(GOOD | {"fitted": {"centre_": {"pickle": "gAN9"}}}), "unknown kind of value pickle"),
    ],
    ids=[
        *("empty", "binary", "list", "foreign", "torn", "version", "class", "dunder", "part", "parameter"),
        *("kind of part", "method", "shape", "kind of value"),
    ],
)
def test_foreign_and_damaged_files_are_refused(text: str, message: str, tmp_path: Path, public: None) -> None:
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(SourceError) as error:
        Estimator.load(path)
    assert message in str(error.value)
    assert f'file "{path}"' in str(error.value)


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"\xff\xfe")
    with pytest.raises(SourceError, match="is not a model of sharkpy"):
        Estimator.load(tmp_path / "latin")
    with pytest.raises(SourceError, match=r"cannot read a model from .*No such file"):
        Estimator.load(tmp_path / "none")
    with pytest.raises(SourceError, match=r"cannot write the model to .*No such file"):
        Centre().fit(X).save(tmp_path / "none" / "model")


_plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
_array = st.sampled_from(["f4", "f8", ">f8", "i1", "i8", "u2", "u8", "bool", "U5", "M8[us]", "m8[D]"]).flatmap(
    lambda dtype: arrays.arrays(np.dtype(dtype), arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)
_objects = st.lists(_plain, max_size=5).map(lambda items: np.array([*items, None], dtype=object))
_values = st.recursive(
    _plain | _array | _objects | _array.filter(lambda array: array.dtype.kind in "fiu" and array.size).map(np.max),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(_values)
def test_every_value_comes_back_exactly(value: object) -> None:
    model = Centre(seed=value)
    found = Centre.from_json(model.to_json()).seed
    assert_same(found, value)


def assert_same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        if expected.dtype == object:
            assert_same(found.tolist(), expected.tolist())
        else:
            np.testing.assert_array_equal(found, expected)
            if expected.dtype.kind == "f":
                # The sign of NaN means nothing, and is not kept.
                signs = (np.signbit(one) & ~np.isnan(one) for one in (found, expected))
                np.testing.assert_array_equal(*signs)
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, dict):
        assert_same(list(found.items()), list(expected.items()))
    else:
        assert found == expected or (found != found and expected != expected)


# scikit-learn


def test_scikit_learn_clones_it_and_sees_whether_it_is_fitted() -> None:
    base = pytest.importorskip("sklearn.base")
    validation = pytest.importorskip("sklearn.utils.validation")
    model = Centre(3).fit(X)
    copy = base.clone(model)
    assert copy.get_params() == model.get_params()
    assert not copy.is_fitted
    validation.check_is_fitted(model)
    with pytest.raises(Exception, match="not fitted"):
        validation.check_is_fitted(copy)

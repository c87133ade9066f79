"""Common parts of all models: parameters, fitted state, checks of input, model files.

scikit-learn's conventions: a constructor stores its arguments as they are, `fit` checks them, computes attributes whose
names end with `_`, and returns the model. So scikit-learn's `clone`, `Pipeline` and `GridSearchCV` take these models.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import numbers
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import DataError, NotFittedError, ParameterError, SourceError, UnsupportedError, did_you_mean
from sharkpy.base.records import dataclass
from sharkpy.ml.features.feature_blocks import ArrayBlocks, FeatureBlocks
from sharkpy.ml.features.training_data import array_blocks, column_names
from sharkpy.ml.models import model_json
from sharkpy.ml.public_names import MODULES


class Estimator:
    """Base of all models; models that predict are a `Predictor`. A subclass has a constructor, `parameter_rules` and a
    `fit` that does:

    1. `self._check_parameters()`;
    2. `blocks = training_blocks(data, y, …)` and `check_features(blocks, self)`: there are rows and features;
    3. its passes over the blocks;
    4. `self._set_features(blocks)` and its own attributes, at the end: a `fit` that fails leaves the model unchanged.

    Its class has a row in the table of `sharkpy/ml/public_names.py`, by which model files find it.
    """

    parameter_rules: ClassVar[Mapping[str, Rule]] = {}
    estimator_type: ClassVar[str | None] = None
    """Kind of model in scikit-learn's words: "classifier", "regressor", "clusterer" or "transformer"."""
    requires_label: ClassVar[bool] = False
    not_saved: ClassVar[frozenset[str]] = frozenset()
    """Fitted attributes that model files omit, because their size grows with the data, such as labels."""

    n_features_in_: int
    feature_names_in_: npt.NDArray[Any]

    # Parameters

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:
        """Arguments of the constructor, in their order."""
        return tuple(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name. `deep` is scikit-learn's: no parameter here is a model."""
        del deep
        return {name: getattr(self, name) for name in self.parameter_names()}

    def set_params(self, **parameters: object) -> Self:
        known = self.parameter_names()
        for name in parameters:
            if name not in known:
                raise ParameterError(
                    f'{type(self).__name__} has no parameter "{name}"',
                    hint=did_you_mean(name, known) or f"it has {', '.join(known)}",
                )
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def clone(self) -> Self:
        """Return an unfitted model with the same parameters."""
        return type(self)(**self.get_params())

    def __repr__(self) -> str:
        """Return the text of the model, with the parameters that differ from their defaults."""
        defaults = inspect.signature(type(self).__init__).parameters
        given = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def _check_parameters(self) -> None:
        check_parameters(type(self).__name__, self.get_params(), self.parameter_rules)

    # Fitted state

    def fitted_state(self) -> dict[str, Any]:
        """Return the attributes that `fit` made, without the ones whose size grows with the data."""
        return {
            name: value
            for name, value in vars(self).items()
            if name.endswith("_") and not name.startswith("_") and name not in self.not_saved
        }

    @property
    def is_fitted(self) -> bool:
        return "n_features_in_" in vars(self)

    def check_fitted(self) -> None:
        """Raise NotFittedError if no `fit` has succeeded."""
        if not self.is_fitted:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet", hint="call fit first")

    def _set_features(self, blocks: FeatureBlocks) -> None:
        self.n_features_in_ = len(blocks.names)
        self.feature_names_in_ = np.array(blocks.names, dtype=object)

    # Input of predict, transform, score

    def _input_blocks(self, X: object, y: object = None, na: str = "error") -> ArrayBlocks:
        """Return blocks of an array or a data frame, whose columns are found by name. Raise DataError if they do not
        fit the model.
        """
        self.check_fitted()
        if isinstance(X, str) or hasattr(type(X), "blocks") or hasattr(type(X), "features"):
            hint = 'predict takes a TableRDD, such as ctx.sql2rdd("SELECT * FROM t")'
            raise UnsupportedError(f"this method takes arrays and data frames, not a {type(X).__name__}", hint=hint)
        names = tuple(map(str, self.feature_names_in_))
        is_named = column_names(X) is not None and (names != default_names(len(names)) or isinstance(y, str))
        blocks = array_blocks(X, y, features=names if is_named else None, na=na)
        if len(blocks.names) != self.n_features_in_:
            raise DataError(
                f"the data has {len(blocks.names)} features; "
                f"this {type(self).__name__} was fitted with {self._features()}"
            )
        return blocks

    def _known_features(self, data: object) -> tuple[str, ...] | None:
        """Return the names by which the columns of a further batch are found. Return None for arrays, or if the first
        batch was one.
        """
        names = tuple(map(str, self.feature_names_in_))
        return None if column_names(data) is None or names == default_names(len(names)) else names

    def _features(self) -> str:
        return f"{self.n_features_in_}: {', '.join(map(str, self.feature_names_in_))}"

    # Model files

    def to_json(self) -> str:
        """Return parameters and fitted state, exactly: a model from `from_json` predicts the same bits."""
        return model_json.to_text(
            model_json.ModelState(type(self).__name__, self.get_params(), self.fitted_state()),
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        return cls._from_state(model_json.from_text(text), "the text")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as JSON, completely or not at all. An existing file is replaced."""
        self.check_fitted()
        model_json.write_file(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model: `Estimator.load` reads a file of any model, `KMeans.load` only a file of a KMeans."""
        return cls._from_state(model_json.read_file(path), f'file "{path}"')

    @classmethod
    def _from_state(cls, state: model_json.ModelState, origin: str) -> Self:
        kind = cls if state.class_name == cls.__name__ else _model_class(state.class_name, origin)
        if not issubclass(kind, cls):
            raise SourceError(f"{origin} holds a {state.class_name}, not a {cls.__name__}")
        try:
            model = kind(**state.parameters)
        except TypeError as error:
            raise SourceError(f"{origin} is a damaged model: {error}") from error
        for name, value in state.fitted.items():
            if not name.endswith("_") or name.startswith("_"):
                raise SourceError(f'{origin} is a damaged model: "{name}" is not a fitted attribute')
            setattr(model, name, value)
        return model

    # Interface to scikit-learn

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted

    def __sklearn_tags__(self) -> object:
        """Return tags of scikit-learn's own classes. Only scikit-learn calls this."""
        tags = sys.modules["sklearn.utils"]
        return tags.Tags(
            estimator_type=self.estimator_type,
            target_tags=tags.TargetTags(required=self.requires_label),
            classifier_tags=tags.ClassifierTags() if self.estimator_type == "classifier" else None,
            regressor_tags=tags.RegressorTags() if self.estimator_type == "regressor" else None,
            transformer_tags=tags.TransformerTags() if hasattr(self, "transform") else None,
        )


def default_names(number: int) -> tuple[str, ...]:
    """Return names for features without names."""
    return tuple(f"x{column}" for column in range(number))


def check_features(blocks: FeatureBlocks, model: Estimator) -> None:
    """Raise DataError if there are no rows or no features."""
    if not blocks.names:
        raise DataError(f"{type(model).__name__} needs at least one feature; the data has no numeric column")
    if blocks.num_rows == 0:
        raise DataError(f"{type(model).__name__} needs at least one row; the data has none")


def _model_class(name: str, origin: str) -> type[Estimator]:
    module = MODULES.get(name)
    kind = getattr(importlib.import_module(module), name) if module else None
    if not (isinstance(kind, type) and issubclass(kind, Estimator)):
        raise SourceError(f'{origin} holds a model of the unknown class "{name}"')
    return kind


@dataclass(frozen=True, slots=True)
class Rule:
    """Rule for a parameter's value; `says` completes the sentence: parameter "C" must be …"""

    says: str
    holds: Callable[[object], bool]

    def or_none(self) -> Rule:
        return Rule(f"{self.says}, or None", lambda value: value is None or self.holds(value))


def check_parameters(owner: str, values: Mapping[str, object], rules: Mapping[str, Rule]) -> None:
    """Raise ParameterError for the first value that breaks its rule."""
    for name, rule in rules.items():
        if not rule.holds(values[name]):
            raise ParameterError(f'parameter "{name}" of {owner} must be {rule.says}, not {values[name]!r}')


def one_of(*choices: str) -> Rule:
    quoted = [f'"{choice}"' for choice in choices]
    return Rule(" or ".join(quoted), lambda value: isinstance(value, str) and value in choices)


def _is_real(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def number_at_least(low: float) -> Rule:
    """Rule for a finite or infinite number; NaN breaks it."""
    return Rule(f"a number of at least {low:g}", lambda value: _is_real(value) and value >= low)  # type: ignore[operator]


def number_above(low: float) -> Rule:
    return Rule(f"a number above {low:g}", lambda value: _is_real(value) and value > low)  # type: ignore[operator]


def integer_at_least(low: int) -> Rule:
    return Rule(f"an integer of at least {low}", lambda value: _is_integer(value) and value >= low)  # type: ignore[operator]


BOOLEAN = Rule("True or False", lambda value: isinstance(value, bool))
SEED = integer_at_least(0).or_none()
"""Rule for seeds of random numbers; None means a new seed on every call of `fit`."""


_HEARD: ContextVar[Callable[[str], bool] | None] = ContextVar("convergence_heard", default=None)


class ConvergenceWarning(UserWarning):
    """Warning that more iterations would improve the fitted model."""


@contextlib.contextmanager
def warnings_to(hear: Callable[[str], bool]) -> Iterator[None]:
    """Pass warnings of this thread's fits inside to `hear`. If it returns False, the warning becomes a Python
    warning.
    """
    token = _HEARD.set(hear)
    try:
        yield
    finally:
        _HEARD.reset(token)


def warn_not_converged(model: object, fact: str, advice: str) -> None:
    warn(f"{type(model).__name__}: {fact}; {advice}", stacklevel=4)


def warn(text: str, stacklevel: int = 3) -> None:
    """Raise a ConvergenceWarning at the caller's caller, or `stacklevel` frames up."""
    hear = _HEARD.get()
    if hear is None or not hear(text):
        warnings.warn(text, ConvergenceWarning, stacklevel=stacklevel)

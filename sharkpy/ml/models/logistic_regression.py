"""Logistic regression: the probability of each class as the softmax of linear scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import DataError, UnsupportedError
from sharkpy.ml.features.feature_blocks import FeatureBlock, Matrix
from sharkpy.ml.features.training_data import column_names, training_blocks
from sharkpy.ml.models.class_labels import ClassCounts, Labels, check_exact, class_weights, named_by_value
from sharkpy.ml.models.estimator import (
    BOOLEAN,
    Rule,
    check_features,
    integer_at_least,
    number_above,
    number_at_least,
    one_of,
    warn_not_converged,
)
from sharkpy.ml.models.logistic_solvers import SOLVERS, LogisticObjective, first_curvature, updated
from sharkpy.ml.models.predictor import Predictor, check_labels, is_in_process, is_table
from sharkpy.ml.models.table_labels import label_classes, number_type, table_with_numbered_label, with_numbers
from sharkpy.values.types import BIGINT, DOUBLE, STRING, DataType
from sharkpy.values.types import BOOLEAN as BOOLEAN_TYPE

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.ml.rdd.table_rdd import TableRDD

Array = npt.NDArray[Any]

_CLASS_WEIGHT = Rule(
    '"balanced", a mapping of classes to weights, or None',
    lambda value: value is None or isinstance(value, Mapping) or (isinstance(value, str) and value == "balanced"),
)


class LogisticRegression(Predictor):
    """Logistic regression of two classes, or more with softmax, with an L2 penalty: scikit-learn's model and objective.

    `C` is the inverse of the penalty, `np.inf` none; intercepts are not penalised. `solver` "lbfgs" stops when no part
    of the gradient is above `tol`, and so does "gradient_descent", whose every step is one pass with a fixed
    `learning_rate` (default: the largest that is sure to descend). "newton" takes the fewest passes for up to some
    hundred coefficients, for any scales of the features. `class_weight` weighs rows by their class, "balanced" so that
    all classes count the same. Nothing is random: `random_state` exists for programs written for scikit-learn.

    Fitted: `classes_`, `coef_` (1 or classes, features), `intercept_`, `n_iter_`, `loss_history_` (the objective before
    the first iteration and after each); after `partial_fit` also `curvature_`, the second derivatives of what all
    batches have said, and `n_seen_`, their rows.
    """

    estimator_type = "classifier"
    requires_label = True
    parameter_rules: ClassVar[Mapping[str, Rule]] = {
        "C": number_above(0),
        "solver": one_of(*SOLVERS),
        "fit_intercept": BOOLEAN,
        "max_iter": integer_at_least(1),
        "tol": number_at_least(0),
        "class_weight": _CLASS_WEIGHT,
        "learning_rate": number_above(0).or_none(),
    }
    curvature_: Array
    n_seen_: int

    def __init__(
        self,
        *,
        C: float = 1.0,
        solver: str = "lbfgs",
        fit_intercept: bool = True,
        max_iter: int = 100,
        tol: float = 1e-4,
        class_weight: Mapping[Any, float] | str | None = None,
        learning_rate: float | None = None,
        random_state: object = None,
    ) -> None:
        self.C = C
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(
        self,
        data: object,
        y: object = None,
        *,
        features: Sequence[str] | None = None,
        na: str = "error",
        session: EngineSession | None = None,
    ) -> Self:
        """Fit by one pass over the rows for the classes, then one for each evaluation of the objective.

        `data` and `y` as `training_blocks` takes them. Labels are numbers, booleans or text; a query finds the classes
        of a table's text. Warn with ConvergenceWarning if the iterations did not suffice.
        """
        self._check_parameters()
        data, labels = _labelled(data, y, session)
        if labels and isinstance(y, str) and is_in_process(data):
            features = features or [name for name in column_names(data) or () if name != y]
        blocks = training_blocks(data, labels.y if labels else y, features=features, na=na, session=session)
        check_features(blocks, self)
        check_labels(blocks, self)
        counts = ClassCounts.of(blocks)
        if labels is None:
            check_exact(counts.values, blocks.dtype)
        classes = labels.named(counts.values) if labels else named_by_value(counts.values)
        weights = class_weights(self.class_weight, classes, counts.rows)
        objective = LogisticObjective(blocks, counts, weights, self.fit_intercept, self.C)
        solution = SOLVERS[self.solver](objective, self.max_iter, self.tol, self.learning_rate)
        coef, intercept = objective.split(solution.parameters)
        self._set_features(blocks)
        for name in ("curvature_", "n_seen_"):
            vars(self).pop(name, None)
        self.classes_ = classes
        self.coef_, self.intercept_ = coef.copy(), intercept.copy()
        self.n_iter_ = np.array([solution.iterations], dtype=np.int32)
        self.loss_history_ = np.array(solution.losses)
        if solution.failure:
            warn_not_converged(self, solution.failure, "raise max_iter, or scale the features as StandardScaler does")
        return self

    def partial_fit(
        self,
        data: object,
        y: object,
        *,
        classes: npt.ArrayLike | None = None,
        features: Sequence[str] | None = None,
        na: str = "error",
    ) -> Self:
        """Learn from one more batch: an array or a data frame, with labels as `fit` takes them; a few passes over it.

        The model keeps a summary of all batches, so each row is seen once. The first batch gives the same result as
        `fit`, except for a weak penalty on intercepts; with more batches the model approaches a fit of all rows.
        `classes`: all classes that may occur, given with the first batch (default: the classes of the first batch).
        Raise DataError for a label of another class, UnsupportedError for more than 500 coefficients.
        """
        self._check_parameters()
        if not is_in_process(data):
            raise UnsupportedError("partial_fit of a table", hint="fit takes tables")
        if isinstance(self.class_weight, str):
            raise UnsupportedError('partial_fit with class_weight "balanced"', hint="give weights by class")
        labels = _given_labels(data, y)
        if labels is None:
            raise DataError("partial_fit needs labels", hint="give y: an array, or the name of the label's column")
        is_first = "curvature_" not in vars(self)
        known = _distinct(labels if classes is None else np.asarray(classes)) if is_first else self.classes_
        if len(known) < 2:
            raise DataError("the first batch has one class only", hint="name all classes that may come: classes=[…]")
        if isinstance(y, str):
            features = features or [name for name in column_names(data) or () if name != y]
        if not is_first:
            features = self._known_features(data) or features
        blocks = training_blocks(data, _places_among(known, labels), features=features, na=na)
        check_features(blocks, self)
        rows = np.sum(blocks.run(_rows_by_place, len(known)), axis=0)
        counts = ClassCounts(np.arange(len(known), dtype=np.float64), rows)
        weights = class_weights(self.class_weight, known, rows)
        objective = LogisticObjective(blocks, counts, weights, self.fit_intercept, np.inf)
        if is_first:
            parameters = objective.start()
            curvature = first_curvature(objective.num_scores, len(blocks.names), self.fit_intercept, self.C)
        else:
            if len(blocks.names) != self.n_features_in_:
                raise DataError(f"the batch has {len(blocks.names)} features, the model {self._features()}")
            columns = [self.coef_, self.intercept_[:, None]] if self.fit_intercept else [self.coef_]
            parameters, curvature = np.hstack(columns).ravel(), self.curvature_
        found, curvature, loss = updated(objective, parameters, curvature, self.tol)
        coef, intercept = objective.split(found)
        if is_first:
            self._set_features(blocks)
        self.classes_ = known
        self.coef_, self.intercept_, self.curvature_ = coef.copy(), intercept.copy(), curvature
        self.n_seen_ = int(rows.sum()) + (0 if is_first else self.n_seen_)
        self.n_iter_, self.loss_history_ = np.array([1], dtype=np.int32), np.array([loss])
        return self

    @property
    def prediction_type(self) -> DataType:
        """Type of `classes_`."""
        self.check_fitted()
        return _TYPES.get(self.classes_.dtype.kind, STRING)

    def _predicted(self, X: Matrix) -> Array:
        found: Array = self.classes_[self._places(X)]
        return found

    def _places(self, X: Matrix) -> npt.NDArray[np.intp]:
        """Return the positions of the predicted classes among `classes_`."""
        scores = self._scores(X)
        return scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(np.intp)

    def _scores(self, X: Matrix) -> Array:
        scores: Array = X @ self.coef_.T + self.intercept_
        return scores

    @overload
    def decision_function(self, X: TableRDD) -> TableRDD: ...
    @overload
    def decision_function(self, X: npt.ArrayLike) -> Array: ...
    def decision_function(self, X: npt.ArrayLike | TableRDD) -> Array | TableRDD:
        """Return scores (rows, classes), or of two classes (rows,), above 0 for the second. For a TableRDD return its
        rows with a column `decision`.
        """
        if is_table(X):
            return self._with_column(X, "decision", "decision_function")
        scores = np.concatenate(self._input_blocks(X).run(_block_scores, self))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @overload
    def predict_proba(self, X: TableRDD) -> TableRDD: ...
    @overload
    def predict_proba(self, X: npt.ArrayLike) -> Array: ...
    def predict_proba(self, X: npt.ArrayLike | TableRDD) -> Array | TableRDD:
        """Return probabilities (rows, classes), in the order of `classes_`. For a TableRDD return its rows with a
        column `probabilities` of array<double>.
        """
        if is_table(X):
            return self._with_column(X, "probabilities", "predict_proba")
        return np.exp(self.predict_log_proba(X))

    @overload
    def predict_log_proba(self, X: TableRDD) -> TableRDD: ...
    @overload
    def predict_log_proba(self, X: npt.ArrayLike) -> Array: ...
    def predict_log_proba(self, X: npt.ArrayLike | TableRDD) -> Array | TableRDD:
        """Return logarithms of probabilities, exact near 0. For a TableRDD return its rows with a column
        `log_probabilities`.
        """
        from scipy.special import log_expit, log_softmax

        if is_table(X):
            return self._with_column(X, "log_probabilities", "predict_log_proba")
        scores = np.concatenate(self._input_blocks(X).run(_block_scores, self))
        if scores.shape[1] == 1:
            return np.hstack([log_expit(-scores), log_expit(scores)])
        found: Array = log_softmax(scores, axis=1)
        return found

    def score(self, X: Any, y: object = None, *, na: str = "error", session: EngineSession | None = None) -> float:
        """Return the share of rows whose class is predicted, of any data that `fit` takes."""
        self.check_fitted()
        given = _given_labels(X, y)
        if given is not None:
            predicted = self.predict(X)
            if given.shape != predicted.shape:
                raise DataError(f"labels of shape {given.shape} for {len(predicted):,} rows")
            return float(np.mean(predicted == given))
        table = table_with_numbered_label(X, y, session)
        if table is not None:
            X = with_numbers(table, str(y), self.classes_.tolist())
        blocks = self._scored_blocks(X, y, na, session)
        return float(sum(blocks.run(_count_right, (self, table is not None))) / blocks.num_rows)


_TYPES = {"b": BOOLEAN_TYPE, "i": BIGINT, "u": BIGINT, "f": DOUBLE}


def _labelled(data: object, y: object, session: EngineSession | None) -> tuple[object, Labels | None]:
    """Return `data` with numbers in place of labels that are text or long numbers, and their classes, or None if blocks
    have the labels.
    """
    given = _given_labels(data, y)
    if given is not None:
        return data, Labels.of(given)
    table = table_with_numbered_label(data, y, session)
    if table is None:
        dtype = number_type(data, y, session)
        return data, None if dtype is None else Labels(str(y), dtype)
    classes = label_classes(table, str(y))
    return with_numbers(table, str(y), classes.tolist()), Labels(str(y), classes.dtype, classes)


def _given_labels(data: Any, y: object) -> Array | None:
    """Return the labels in this process, of an array or a column of a data frame, or None if a table or blocks have
    them.
    """
    if y is None or not is_in_process(data) or (isinstance(y, str) and y not in (column_names(data) or ())):
        return None
    labels = np.asarray(data[y] if isinstance(y, str) else y)
    return labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels


def _distinct(labels: Array) -> Array:
    try:
        found: Array = np.unique(labels)
    except TypeError:
        raise DataError("the labels are missing, or of types that have no common order") from None
    return found


def _rows_by_place(block: FeatureBlock, number: int) -> npt.NDArray[np.int64]:
    assert block.y is not None
    return np.bincount(block.y.astype(np.intp), minlength=number)


def _places_among(classes: Array, labels: Array) -> npt.NDArray[np.float64]:
    """Return the places of labels among the classes, which are sorted. Raise DataError for a label of another class."""
    try:
        places = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        wrong = labels[classes[places] != labels]
    except TypeError:
        raise DataError("the labels are missing, or of types that have no common order") from None
    if len(wrong):
        known = ", ".join(map(str, classes.tolist()[:10]))
        raise DataError(f"the label {wrong[0]!r} is none of the classes", hint=f"they are {known}")
    return places.astype(np.float64)


def _block_scores(block: FeatureBlock, model: LogisticRegression) -> Array:
    return model._scores(block.X)


def _count_right(block: FeatureBlock, model_and_form: tuple[LogisticRegression, bool]) -> int:
    """Return the number of right predictions of a block: kernel of a pass. Labels are positions of classes or, if the
    form says so, classes.
    """
    assert block.y is not None
    model, by_place = model_and_form
    found = model._places(block.X) if by_place else model._predicted(block.X)
    return int(np.count_nonzero(found == block.y))

"""Linear regression by least squares, with or without a penalty, from one pass over the rows."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from sharkpy.base.records import dataclass
from sharkpy.ml.features.feature_blocks import FeatureBlock, Matrix, refuse_not_finite
from sharkpy.ml.features.training_data import training_blocks
from sharkpy.ml.models.estimator import BOOLEAN, Rule, check_features, number_at_least
from sharkpy.ml.models.kernels.column_moments import ColumnMoments, Scatter, column_moments, scatter
from sharkpy.ml.models.predictor import Predictor, check_labels
from sharkpy.values.types import DOUBLE, DataType

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession

Array = npt.NDArray[Any]


class LinearRegression(Predictor):
    """Linear function of the features for a number: ordinary least squares, or ridge regression.

    Minimises |y - X coef - intercept|^2 + `alpha` |coef|^2, as scikit-learn's LinearRegression (alpha 0) and Ridge do;
    the intercept is not penalised. If columns depend on each other, it is the shortest solution.

    Fitted: `coef_` (features,), `intercept_`, `rank_` of the centred features.
    """

    estimator_type = "regressor"
    requires_label = True
    parameter_rules: ClassVar[Mapping[str, Rule]] = {"fit_intercept": BOOLEAN, "alpha": number_at_least(0)}

    def __init__(self, *, fit_intercept: bool = True, alpha: float = 0.0) -> None:
        self.fit_intercept = fit_intercept
        self.alpha = alpha

    def fit(
        self,
        data: object,
        y: object = None,
        *,
        features: Sequence[str] | None = None,
        na: str = "error",
        session: EngineSession | None = None,
    ) -> Self:
        """Fit in one pass over the rows; `data` and `y` as `training_blocks` takes them."""
        self._check_parameters()
        blocks = training_blocks(data, y, features=features, na=na, session=session)
        check_features(blocks, self)
        check_labels(blocks, self)
        rows: Scatter = functools.reduce(operator.add, blocks.run(scatter))
        if not (np.isfinite(rows.factor).all() and np.isfinite(rows.mean).all()):
            refuse_not_finite(blocks)
        mean = rows.mean if self.fit_intercept else np.zeros_like(rows.mean)
        factor = rows.factor if self.fit_intercept else rows.uncentred()
        fitted = least_squares(factor, rows.rounding(), self.alpha)
        self._set_features(blocks)
        self.coef_, self.rank_ = fitted.coef, fitted.rank
        self.intercept_ = float(mean[-1] - mean[:-1] @ fitted.coef)
        return self

    @property
    def prediction_type(self) -> DataType:
        return DOUBLE

    def _predicted(self, X: Matrix) -> Array:
        found: Array = X @ self.coef_ + self.intercept_
        return found

    def score(self, X: object, y: object = None, *, na: str = "error", session: EngineSession | None = None) -> float:
        """R², 1 - (squared errors) / (squared distances from the mean), of any data that `fit` takes."""
        blocks = self._scored_blocks(X, y, na, session)
        of_blocks = blocks.run(squared_errors, self)
        from_mean = float(functools.reduce(operator.add, (label for label, _ in of_blocks)).squares[0])
        squared = sum(error for _, error in of_blocks)
        if from_mean == 0:
            return 1.0 if squared == 0 else 0.0
        return float(1.0 - squared / from_mean)


def squared_errors(block: FeatureBlock, model: LinearRegression) -> tuple[ColumnMoments, float]:
    """Errors of a block, kernel of a pass: moments of the label, and the sum of squared errors of predictions."""
    assert block.y is not None
    label = block.y.astype(np.float64)
    error = label - model._predicted(block.X)
    return column_moments(FeatureBlock(block.number, label[:, np.newaxis])), float(error @ error)


_DEPENDENT = 1e-12
"""Bound on dependence: unit columns depend on each other in a direction whose length is below this part of the longest.
"""


@dataclass(frozen=True, slots=True)
class LeastSquares:
    coef: npt.NDArray[np.float64]
    rank: int


def least_squares(
    factor: npt.NDArray[np.float64], rounding: npt.NDArray[np.float64], alpha: float = 0.0
) -> LeastSquares:
    """Find the shortest w that minimises |y - X w|^2 + alpha |w|^2.

    `factor` is R of the columns [X y], with R'R = [X y]'[X y]. A column that is not longer than `rounding` (columns,)
    counts as zero. The rank is computed for columns scaled to length 1, so that units do not matter.
    """
    num_features = factor.shape[1] - 1
    X, y = factor[:, :num_features], factor[:, num_features]
    length = np.linalg.norm(X, axis=0)
    X = np.where(length <= rounding[:num_features], 0.0, X)
    rank = len(_independent(np.linalg.svd(X / _scale(X), compute_uv=False)))
    if alpha > 0:
        X = np.vstack([X, np.sqrt(alpha) * np.eye(num_features)])
        y = np.append(y, np.zeros(num_features))
    scale = _scale(X)
    left, singular, right = np.linalg.svd(X / scale, full_matrices=True)
    kept = _independent(singular)
    coef = right[kept].T @ ((left[:, kept].T @ y) / singular[kept]) / scale
    free = np.delete(right, kept, axis=0).T / scale[:, np.newaxis]
    if free.shape[1]:
        directions, _ = np.linalg.qr(free)
        coef = coef - directions @ (directions.T @ coef)
    return LeastSquares(coef, rank)


def _scale(X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Lengths of columns; 1 for zero columns."""
    length: npt.NDArray[np.float64] = np.linalg.norm(X, axis=0)
    return np.where(length == 0, 1.0, length)


def _independent(singular: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.intp]:
    """Positions of the directions that count."""
    return np.flatnonzero(singular > _DEPENDENT * singular.max(initial=0.0))

"""Objective of logistic regression, evaluated in one pass over the blocks.

It is the mean over rows (weighted by their classes) of the logistic loss, plus 1/2 |coef|^2 / (C n), with n the sum of
the rows' weights. It equals scikit-learn's objective, so that `tol` means the same. Intercepts are not penalised.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sharkpy.ml.features.feature_blocks import FeatureBlocks
from sharkpy.ml.features.refuse_not_finite import refuse_not_finite
from sharkpy.ml.models.class_labels import ClassCounts
from sharkpy.ml.models.kernels.logistic_curvature import CurvatureSums, logistic_curvature
from sharkpy.ml.models.kernels.logistic_loss import LossPoint, LossSums, logistic_loss
from sharkpy.ml.models.kernels.scatter import Scatter, scatter

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class LogisticObjective:
    """Function of the parameters: for each score, its coefficients and, if fitted, its intercept."""

    blocks: FeatureBlocks
    classes: ClassCounts
    weights: npt.NDArray[np.float64]
    fit_intercept: bool
    C: float

    @property
    def num_scores(self) -> int:
        return 1 if len(self.classes.values) == 2 else len(self.classes.values)

    @property
    def total_weight(self) -> float:
        return float(self.weights @ self.classes.rows)

    @property
    def penalty(self) -> float:
        return 1.0 / (self.C * self.total_weight)

    def start(self) -> Array:
        return np.zeros(self.num_scores * (len(self.blocks.names) + self.fit_intercept))

    def split(self, parameters: Array) -> tuple[Array, Array]:
        """Split parameters into coef (scores, features) and intercept (scores,)."""
        rows = parameters.reshape(self.num_scores, -1)
        num_features = len(self.blocks.names)
        return rows[:, :num_features], rows[:, num_features] if self.fit_intercept else np.zeros(self.num_scores)

    def centred(self, parameters: Array) -> Array:
        """Shift parameters to a sum of 0 over the classes: softmax ignores what all scores have in common."""
        if self.num_scores == 1:
            return parameters
        rows = parameters.reshape(self.num_scores, -1)
        return np.ravel(rows - rows.mean(axis=0))

    def __call__(self, parameters: Array) -> tuple[float, Array]:
        """Return value and gradient at `parameters`. Raise DataError if they are not finite."""
        sums: LossSums = functools.reduce(operator.add, self.blocks.run(logistic_loss, self._point(parameters)))
        return self._with_penalty(sums, parameters)

    def with_hessian(self, parameters: Array) -> tuple[float, Array, Array]:
        """Return value, gradient and second derivatives at `parameters`, by one pass."""
        found: CurvatureSums = functools.reduce(
            operator.add, self.blocks.run(logistic_curvature, self._point(parameters))
        )
        value, gradient = self._with_penalty(found.sums, parameters)
        num_features = len(self.blocks.names)
        size = num_features + self.fit_intercept
        hessian = found.hessian[:, :size, :, :size].reshape(len(parameters), len(parameters)) / self.total_weight
        is_penalized = np.tile(np.arange(size) < num_features, self.num_scores)
        return value, gradient, hessian + np.diag(self.penalty * is_penalized)

    def _point(self, parameters: Array) -> LossPoint:
        coef, intercept = self.split(parameters)
        return LossPoint(np.ascontiguousarray(coef), intercept.copy(), self.classes.values, self.weights)

    def _with_penalty(self, sums: LossSums, parameters: Array) -> tuple[float, Array]:
        coef, _ = self.split(parameters)
        value = sums.loss / self.total_weight + 0.5 * self.penalty * float(np.vdot(coef, coef))
        gradient = sums.coef / self.total_weight + self.penalty * coef
        if self.fit_intercept:
            gradient = np.column_stack([gradient, sums.intercept / self.total_weight])
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            refuse_not_finite(self.blocks)
        return value, gradient.ravel()

    def lipschitz(self) -> float:
        """Upper bound of the second derivative in any direction, by one pass: gradient descent with step 1 / bound
        always descends. The loss of two classes bends by at most 1/4, softmax by 1/2 (Boehning, 1992).
        """
        rows: Scatter = functools.reduce(operator.add, self.blocks.run(scatter))
        num_features = len(self.blocks.names)
        columns = np.vstack([rows.factor, rows.mean])[:, : num_features + self.fit_intercept]
        if self.fit_intercept:  # its column of ones in place of the label: all of it is its mean
            columns[:, num_features] = 0.0
            columns[-1, num_features] = 1.0
        columns[-1] *= np.sqrt(rows.num_rows)
        if not np.isfinite(columns).all():
            refuse_not_finite(self.blocks)
        bend = 0.25 if self.num_scores == 1 else 0.5
        largest = float(np.linalg.norm(columns, 2)) ** 2
        return bend * float(self.weights.max()) * largest / self.total_weight + self.penalty

"""Objective of logistic regression, evaluated in one pass over the blocks, and the solvers that minimise it.

Batch by batch, all earlier batches are summarised as a quadratic function of the parameters.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.ml.features.feature_blocks import FeatureBlocks, refuse_not_finite
from sharkpy.ml.models.class_labels import ClassCounts
from sharkpy.ml.models.kernels.column_moments import Scatter, scatter
from sharkpy.ml.models.kernels.logistic_loss import (
    CurvatureSums,
    LossPoint,
    LossSums,
    logistic_curvature,
    logistic_loss,
)

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


MAX_NEWTON = 500
"""Limit on coefficients for Newton's method: each block returns a matrix with their square number of values."""
_ROUNDING = 1e-13
"""Relative rounding of a loss: for values that differ by less, the gradient tells which is nearer to the minimum."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Solution of a solver: `losses` after 0, 1, … iterations. If the gradient is above the tolerance, `failure` tells
    why.
    """

    parameters: Array
    losses: list[float]
    failure: str | None

    @property
    def iterations(self) -> int:
        return len(self.losses) - 1


def lbfgs(objective: LogisticObjective, max_iter: int, tol: float, learning_rate: float | None) -> Solution:
    """L-BFGS-B of SciPy (Byrd, Lu, Nocedal and Zhu, 1995) with scikit-learn's options, until max|gradient| <= tol."""
    del learning_rate
    from scipy.optimize import OptimizeResult, minimize

    losses: list[float] = []

    def evaluated(parameters: Array) -> tuple[float, Array]:
        value, gradient = objective(parameters)
        if not losses:
            losses.append(value)
        return value, gradient

    def after_iteration(intermediate_result: OptimizeResult) -> None:
        losses.append(float(intermediate_result.fun))

    options = {"maxiter": max_iter, "maxls": 50, "gtol": tol, "ftol": 64 * np.finfo(float).eps}
    found = minimize(
        evaluated, objective.start(), method="L-BFGS-B", jac=True, callback=after_iteration, options=options
    )
    failure = None if found.success else f"L-BFGS ended after {found.nit} iterations: {found.message}"
    return Solution(found.x, losses, failure)


def gradient_descent(objective: LogisticObjective, max_iter: int, tol: float, learning_rate: float | None) -> Solution:
    """Gradient descent: parameters -= step * gradient, a pass each, until max|gradient| <= tol; the default step always
    descends.
    """
    step = learning_rate if learning_rate is not None else 1.0 / objective.lipschitz()
    parameters = objective.start()
    value, gradient = objective(parameters)
    losses = [value]
    while (largest := float(np.abs(gradient).max())) > tol:
        if len(losses) > max_iter:
            grown = "; the loss grew: the learning rate is too large" if losses[-1] > losses[0] else ""
            fact = f"gradient descent ended after {max_iter} iterations with a gradient of {largest:.3g}{grown}"
            return Solution(parameters, losses, fact)
        parameters = parameters - step * gradient
        value, gradient = objective(parameters)
        losses.append(value)
    return Solution(parameters, losses, None)


def newton(objective: LogisticObjective, max_iter: int, tol: float, learning_rate: float | None) -> Solution:
    """Newton's method, a pass for each step and for each halving of one, until max|gradient| <= tol.

    It is independent of the features' scales and converges within ten steps or so, to more digits than L-BFGS, which
    judges only by the loss. Raise UnsupportedError if there are too many second derivatives.
    """
    del learning_rate
    parameters = objective.start()
    if len(parameters) > MAX_NEWTON:
        fact = f'solver "newton" with {len(parameters)} coefficients: it takes up to {MAX_NEWTON}'
        raise UnsupportedError(fact, hint='solver="lbfgs" takes any number')
    value, gradient, hessian = objective.with_hessian(parameters)
    losses = [value]
    while (largest := float(np.abs(gradient).max())) > tol:
        if len(losses) > max_iter:
            fact = f"Newton's method ended after {max_iter} iterations with a gradient of {largest:.3g}"
            return Solution(parameters, losses, fact)
        step = objective.centred(_newton_step(hessian, gradient))
        while True:
            tried = objective.with_hessian(parameters - step)
            if abs(tried[0] - value) <= _ROUNDING * value:
                if np.abs(tried[1]).max() < largest / 2:
                    break
                return Solution(parameters, losses, None)
            if tried[0] <= value - 1e-4 * float(gradient @ step):
                break
            step = step / 2
        parameters = parameters - step
        value, gradient, hessian = tried
        losses.append(value)
    return Solution(parameters, losses, None)


def _newton_step(hessian: Array, gradient: Array) -> Array:
    """Shortest step, in units in which the diagonal is 1: directions without curvature are left alone."""
    scale = np.sqrt(np.diag(hessian))
    scale = np.where(scale == 0, 1.0, scale)
    found: Array = np.linalg.lstsq(hessian / np.outer(scale, scale), gradient / scale, rcond=None)[0] / scale
    return found


SOLVERS: dict[str, Callable[[LogisticObjective, int, float, float | None], Solution]] = {
    "lbfgs": lbfgs,
    "gradient_descent": gradient_descent,
    "newton": newton,
}


INTERCEPT_WEIGHT = 1e-3
"""Penalty on intercepts, relative to 1 on coefficients at C = 1: a first batch may have rows of only one class."""
_MOST_STEPS = 50


def first_curvature(num_scores: int, num_features: int, fit_intercept: bool, C: float) -> Array:
    """Return the second derivatives of the penalty, before any batch. Raise UnsupportedError if there are too many."""
    num_parameters = num_scores * (num_features + fit_intercept)
    if num_parameters > MAX_NEWTON:
        raise UnsupportedError(f"partial_fit with {num_parameters} coefficients: it takes up to {MAX_NEWTON}")
    one = [0.0 if np.isinf(C) else 1.0 / C] * num_features + [INTERCEPT_WEIGHT] * fit_intercept
    return np.diag(np.maximum(np.tile(one, num_scores), INTERCEPT_WEIGHT * 1e-3))


def updated(
    objective: LogisticObjective, parameters: Array, curvature: Array, tol: float
) -> tuple[Array, Array, float]:
    """Return parameters, second derivatives and the batch's loss after a batch. Its objective must have no penalty."""
    start, weight = parameters, objective.total_weight

    def at(point: Array) -> tuple[float, Array, Array]:
        value, gradient, hessian = objective.with_hessian(point)
        away = point - start
        pull = curvature @ away
        return value + 0.5 * float(away @ pull) / weight, gradient + pull / weight, hessian + curvature / weight

    value, gradient, hessian = at(start)
    for _ in range(_MOST_STEPS):
        if float(np.abs(gradient).max()) <= tol * 1e-3:
            break
        step = np.linalg.solve(hessian, gradient)
        tried = at(parameters - step)
        while tried[0] > value - 1e-4 * float(gradient @ step) and float(np.abs(step).max()) > 1e-12:
            step = step / 2
            tried = at(parameters - step)
        parameters = parameters - step
        value, gradient, hessian = tried
    return parameters, hessian * weight, value

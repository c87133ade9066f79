"""Logistic regression batch by batch: all earlier batches are summarised as a quadratic function of the parameters
(Laplace's approximation; Spiegelhalter and Lauritzen, 1990).

A batch is added by Newton's method on the sum of its own loss and that function. The second derivatives of the function
are the sum over the earlier batches, each at the parameters that it led to. For a single batch the result equals a fit
of all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import UnsupportedError
from sharkpy.ml.models.logistic_objective import LogisticObjective
from sharkpy.ml.models.logistic_solvers import MAX_NEWTON

Array = npt.NDArray[Any]
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

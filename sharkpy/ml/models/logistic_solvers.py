"""Solvers: ways to the minimum of a smooth function with value and gradient, as rows of SOLVERS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import UnsupportedError
from sharkpy.ml.models.logistic_objective import LogisticObjective

MAX_NEWTON = 500
"""Limit on coefficients for Newton's method: each block returns a matrix with their square number of values."""
_ROUNDING = 1e-13
"""Relative rounding of a loss: for values that differ by less, the gradient tells which is nearer to the minimum."""

Array = npt.NDArray[Any]


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

"""Logistic loss of two classes and its gradient, as SIMD code over strips of rows that stay in cache.

With score z, its sign turned for a positive row, and e = exp(-|z|), a row's loss is log(1 + e) + max(z, 0). Every loop
runs along a strip; several features are taken at a time, so that scores are loaded and stored less often.

Loops that sum up write to no array: else the compiled code would first check for overlapping arrays, and their
addresses might change the order of summation.

This module imports numba: import it only to run it.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from sharkpy.columnar.compiled import machine_code
from sharkpy.ml.models.kernels.strips import columns_of, read_only, strip_rows

Array = npt.NDArray[Any]
_kernel = functools.partial(machine_code, fastmath=("reassoc", "contract", "nsz"))
_FACTORS = 512
"""Number of factors from 1 to 2 whose product is certainly finite."""


def two_class_loss(
    X: Array, y: Array, coef: Array, intercept: float, positive: float, weights: tuple[float, float]
) -> tuple[float, Array, float]:
    """(sum of the rows' losses, its derivative by `coef`, by `intercept`); a row counts by the weight of its class."""
    gradient = np.zeros(X.shape[1])
    labels = read_only(np.ascontiguousarray(y))
    loss, by_intercept = _sum_strips(
        columns_of(X), labels, coef, intercept, positive, *weights, strip_rows(X.shape[1]), gradient
    )
    return loss, gradient, by_intercept


@_kernel
def _set_scores(columns: Array, start: int, coef: Array, intercept: float, score: Array) -> None:
    rows = len(score)
    rest = len(columns) % 4
    for i in range(rows):
        score[i] = intercept
    for j in range(rest):
        weight, column = coef[j], columns[j, start : start + rows]
        for i in range(rows):
            score[i] += weight * column[i]
    for j in range(rest, len(columns), 4):
        w0, w1, w2, w3 = coef[j], coef[j + 1], coef[j + 2], coef[j + 3]
        c0, c1 = columns[j, start : start + rows], columns[j + 1, start : start + rows]
        c2, c3 = columns[j + 2, start : start + rows], columns[j + 3, start : start + rows]
        for i in range(rows):
            score[i] += w0 * c0[i] + w1 * c1[i] + w2 * c2[i] + w3 * c3[i]


@_kernel
def _set_exponentials(score: Array, e: Array, power: Array) -> None:
    """Set e = exp(-|z|), as 2^k p(r) with -|z| = k log 2 + r and p of Taylor's series, exact to float64 for |r| <=
    log(2) / 2, without a branch.
    """
    power_value = power.view(np.float64)
    for i in range(len(score)):
        z = -min(abs(score[i]), 708.0)
        k = np.floor(z * 1.4426950408889634 + 0.5)
        r = z - k * 0.6931471805599453
        p = 1.6059043836821613e-10
        p = p * r + 2.08767569878681e-09
        p = p * r + 2.505210838544172e-08
        p = p * r + 2.755731922398589e-07
        p = p * r + 2.7557319223985893e-06
        p = p * r + 2.48015873015873e-05
        p = p * r + 1.984126984126984e-04
        p = p * r + 1.388888888888889e-03
        p = p * r + 8.333333333333333e-03
        p = p * r + 4.1666666666666664e-02
        p = p * r + 1.6666666666666666e-01
        p = p * r + 0.5
        p = p * r + 1.0
        e[i] = p * r + 1.0
        power[i] = (np.int64(k) + 1023) << 52
    for i in range(len(score)):
        e[i] *= power_value[i]


@_kernel
def _losses(y: Array, e: Array, score: Array, positive: float, weight_0: float, weight_1: float) -> float:
    """Return the sum of the losses. Logarithms are taken of products. An e too small to change 1 is its own
    log(1 + e).
    """
    product_0, product_1, rest = 1.0, 1.0, 0.0
    for i in range(len(y)):
        is_positive = y[i] == positive
        is_tiny = e[i] < 1e-8
        factor = 1.0 if is_tiny else 1.0 + e[i]
        product_0 *= 1.0 if is_positive else factor
        product_1 *= factor if is_positive else 1.0
        away = -score[i] if is_positive else score[i]
        rest += (weight_1 if is_positive else weight_0) * (max(away, 0.0) + (e[i] if is_tiny else 0.0))
    loss: float = weight_0 * np.log(product_0) + weight_1 * np.log(product_1) + rest
    return loss


@_kernel
def _set_derivatives(y: Array, e: Array, score: Array, positive: float, weight_0: float, weight_1: float) -> None:
    """Replace each row's score by the derivative of its loss by the score."""
    for i in range(len(y)):
        is_positive = y[i] == positive
        away = -score[i] if is_positive else score[i]
        wrong = (1.0 if away > 0.0 else e[i]) / (1.0 + e[i])
        score[i] = -weight_1 * wrong if is_positive else weight_0 * wrong


@_kernel
def _add_products(columns: Array, start: int, derivative: Array, gradient: Array) -> None:
    rows = len(derivative)
    rest = len(columns) % 4
    for j in range(rest):
        column = columns[j, start : start + rows]
        total = 0.0
        for i in range(rows):
            total += derivative[i] * column[i]
        gradient[j] += total
    for j in range(rest, len(columns), 4):
        c0, c1 = columns[j, start : start + rows], columns[j + 1, start : start + rows]
        c2, c3 = columns[j + 2, start : start + rows], columns[j + 3, start : start + rows]
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        for i in range(rows):
            t0 += derivative[i] * c0[i]
            t1 += derivative[i] * c1[i]
            t2 += derivative[i] * c2[i]
            t3 += derivative[i] * c3[i]
        gradient[j] += t0
        gradient[j + 1] += t1
        gradient[j + 2] += t2
        gradient[j + 3] += t3


@_kernel
def _sum_strips(
    columns: Array,
    y: Array,
    coef: Array,
    intercept: float,
    positive: float,
    weight_0: float,
    weight_1: float,
    strip: int,
    gradient: Array,
) -> tuple[float, float]:
    """(loss, derivative by the intercept); adds to `gradient`."""
    all_scores, all_e, all_powers = np.empty(strip), np.empty(strip), np.empty(strip, np.int64)
    loss, by_intercept = 0.0, 0.0
    for start in range(0, len(y), strip):
        rows = min(strip, len(y) - start)
        score, e = all_scores[:rows], all_e[:rows]
        _set_scores(columns, start, coef, intercept, score)
        _set_exponentials(score, e, all_powers[:rows])
        for first in range(0, rows, _FACTORS):
            end = min(first + _FACTORS, rows)
            own = y[start + first : start + end], e[first:end], score[first:end]
            loss += _losses(*own, positive, weight_0, weight_1)
            _set_derivatives(*own, positive, weight_0, weight_1)
        for i in range(rows):
            by_intercept += score[i]
        _add_products(columns, start, score, gradient)
    return loss, by_intercept

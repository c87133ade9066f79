"""The logistic loss of a block and its gradient, for two classes or more, in one pass over the block's memory.

Both are sums over rows: 1/n and the penalty are the objective's. Everything is accumulated in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sharkpy.columnar.compiled import compiled_sums
from sharkpy.ml.features.feature_blocks import FeatureBlock
from sharkpy.ml.models.kernels.strips import columns_of, read_only, strip_rows

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class LossPoint:
    """Where the loss is asked for. Two classes have one row of coefficients, more have one each.

    `coef` (scores, features), `intercept` (scores,), `classes` the sorted values of labels, `weights` of the classes.
    """

    coef: Array
    intercept: Array
    classes: Array
    weights: Array


@dataclass(frozen=True, slots=True)
class LossSums:
    """Sums over rows: the loss, and its derivative by `coef` (scores, features) and `intercept` (scores,)."""

    loss: float
    coef: Array
    intercept: Array

    def __add__(self, other: LossSums) -> LossSums:
        return LossSums(self.loss + other.loss, self.coef + other.coef, self.intercept + other.intercept)


def logistic_loss(block: FeatureBlock, at: LossPoint) -> LossSums:
    """Kernel of a pass."""
    assert block.y is not None
    return (_two_classes if len(at.classes) == 2 else _more_classes)(block.X, block.y, at)


def _two_classes(X: Array, y: Array, at: LossPoint) -> LossSums:
    gradient = np.zeros(X.shape[1])
    loss, intercept = _two_classes_strips(
        *(columns_of(X), read_only(np.ascontiguousarray(y)), at.coef[0], at.intercept[0], at.classes[1]),
        *(at.weights[0], at.weights[1]),
        *(strip_rows(X.shape[1]), gradient),
    )
    return LossSums(loss, gradient[np.newaxis], np.array([intercept]))


@compiled_sums
def _two_classes_strips(
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
    """(loss, derivative by the intercept); adds to `gradient`.

    With score z, its sign turned for a positive row, and e = exp(-|z|), a row's loss is log(1 + e) + max(z, 0). e is
    2^k p(r) with -|z| = k log 2 + r and p of Taylor's series, exact to float64 for |r| <= log(2) / 2, without a branch,
    so that the loop is SIMD code. The logarithm is taken of products of 32 factors from 1 to 2; an e that would vanish
    beside 1 is its own log(1 + e).

    Loops that sum up write to no array: where one does, the compiled code looks first whether arrays overlap, and may
    take another order of summation by where they lie in memory.
    """
    num_features, num_rows = len(columns), len(y)
    score = np.empty(strip)
    e = np.empty(strip)
    power = np.empty(strip, np.int64)
    power_value = power.view(np.float64)
    lanes = strip // 32
    product_0 = np.empty(lanes)
    product_1 = np.empty(lanes)
    rest = np.empty(lanes)
    loss = 0.0
    by_intercept = 0.0
    for start in range(0, num_rows, strip):
        rows = min(strip, num_rows - start)
        for i in range(rows):
            score[i] = intercept
        for j in range(num_features):
            weight = coef[j]
            column = columns[j, start : start + rows]
            for i in range(rows):
                score[i] += weight * column[i]
        for i in range(rows):
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
        for i in range(rows):
            e[i] *= power_value[i]
        product_0[:] = 1.0
        product_1[:] = 1.0
        rest[:] = 0.0
        for first in range(0, rows, lanes):
            for i in range(min(lanes, rows - first)):
                is_positive = y[start + first + i] == positive
                value = e[first + i]
                is_tiny = value < 1e-8
                factor = 1.0 if is_tiny else 1.0 + value
                product_0[i] *= 1.0 if is_positive else factor
                product_1[i] *= factor if is_positive else 1.0
                away = max(-score[first + i] if is_positive else score[first + i], 0.0)
                rest[i] += (weight_1 if is_positive else weight_0) * (away + (value if is_tiny else 0.0))
        for i in range(lanes):
            loss += weight_0 * np.log(product_0[i]) + weight_1 * np.log(product_1[i]) + rest[i]
        for i in range(rows):
            is_positive = y[start + i] == positive
            value = e[i]
            wrong = (value if is_positive == (score[i] >= 0) else 1.0) / (1.0 + value)
            score[i] = -weight_1 * wrong if is_positive else weight_0 * wrong
        for i in range(rows):
            by_intercept += score[i]
        for j in range(num_features):
            column = columns[j, start : start + rows]
            total = 0.0
            for i in range(rows):
                total += score[i] * column[i]
            gradient[j] += total
    return loss, by_intercept


def _more_classes(X: Array, y: Array, at: LossPoint) -> LossSums:
    """With a row's scores z, its loss is log(sum of exp(z)) - z[y]; strip by strip, products by BLAS."""
    num_rows, num_features = X.shape
    num_classes = len(at.classes)
    strip = strip_rows(num_features + 2 * num_classes)
    by_coef, by_intercept = np.zeros((num_classes, num_features)), np.zeros(num_classes)
    loss = 0.0
    for start in range(0, num_rows, strip):
        part = X[start : start + strip].T.astype(np.float64, copy=False)
        own = np.searchsorted(at.classes, y[start : start + strip]), np.arange(part.shape[1])
        weight = at.weights[own[0]]
        values = at.coef @ part
        values += at.intercept[:, np.newaxis]
        values -= values.max(axis=0)
        own_score = values[own]
        np.exp(values, out=values)
        total = values.sum(axis=0)
        loss += float(weight @ (np.log(total) - own_score))
        values *= weight / total
        values[own] -= weight
        by_coef += values @ part.T
        by_intercept += values.sum(axis=1)
    return LossSums(loss, by_coef, by_intercept)

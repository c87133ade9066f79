"""Logistic loss of a block and its gradient, for two classes or more, in one pass over the block's memory.

Both are sums over rows: 1/n and the penalty are the objective's. Everything is accumulated in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sharkpy.base.records import dataclass
from sharkpy.ml.features.feature_blocks import FeatureBlock
from sharkpy.ml.models.kernels.strips import strip_rows

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class LossPoint:
    """Point at which the loss is evaluated. Two classes have one row of coefficients, more have one each.

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
    """Loss of a block and its gradient: kernel of a pass."""
    assert block.y is not None
    return (_two_classes if len(at.classes) == 2 else _more_classes)(block.X, block.y, at)


def _two_classes(X: Array, y: Array, at: LossPoint) -> LossSums:
    from sharkpy.ml.models.kernels.two_class_loss import two_class_loss

    weights = at.weights[0], at.weights[1]
    loss, coef, intercept = two_class_loss(X, y, at.coef[0], at.intercept[0], at.classes[1], weights)
    return LossSums(loss, coef[np.newaxis], np.array([intercept]))


def _more_classes(X: Array, y: Array, at: LossPoint) -> LossSums:
    """Loss of three classes or more: with a row's scores z, it is log(sum of exp(z)) - z[y]; strip by strip, by
    BLAS.
    """
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


@dataclass(frozen=True, slots=True)
class CurvatureSums:
    """`hessian` (scores, features + 1, scores, features + 1): for each score by its coefficients, then its
    intercept.
    """

    sums: LossSums
    hessian: Array

    def __add__(self, other: CurvatureSums) -> CurvatureSums:
        return CurvatureSums(self.sums + other.sums, self.hessian + other.hessian)


def logistic_curvature(block: FeatureBlock, at: LossPoint) -> CurvatureSums:
    """Second derivatives of a block: kernel of a pass. With probabilities p of a row x and its weight w: w (p[k] [k =
    l] - p[k] p[l]) x x'.
    """
    assert block.y is not None
    num_scores, num_features = at.coef.shape
    hessian = np.zeros((num_scores, num_features + 1, num_scores, num_features + 1))
    strip = strip_rows(2 * num_features + 2 * len(at.classes))
    for start in range(0, block.num_rows, strip):
        y = block.y[start : start + strip]
        part = np.ones((num_features + 1, len(y)))
        part[:num_features] = block.X[start : start + strip].T
        weight = at.weights[np.searchsorted(at.classes, y)]
        p = _probabilities(at.coef @ part[:num_features] + at.intercept[:, np.newaxis])
        for k in range(num_scores):
            for other in range(k + 1):
                bend = weight * p[k] * ((k == other) - p[other])
                hessian[k, :, other] += (part * bend) @ part.T
    for k in range(num_scores):
        for other in range(k):
            hessian[other, :, k] = hessian[k, :, other].T
    return CurvatureSums(logistic_loss(block, at), hessian)


def _probabilities(scores: Array) -> Array:
    """Return the probabilities of each class, or of only two classes, which have one score, the probabilities of the
    second.
    """
    from scipy.special import expit, softmax

    return np.asarray(expit(scores) if len(scores) == 1 else softmax(scores, axis=0))

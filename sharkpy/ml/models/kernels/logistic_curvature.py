"""Second derivatives of the logistic loss of a block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sharkpy.ml.features.feature_blocks import FeatureBlock
from sharkpy.ml.models.kernels.logistic_loss import LossPoint, LossSums, logistic_loss
from sharkpy.ml.models.kernels.strips import strip_rows

Array = npt.NDArray[np.float64]


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

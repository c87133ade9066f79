"""Least squares from a triangular factor, for columns of any scales and any rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

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

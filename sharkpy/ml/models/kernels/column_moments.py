"""Counts, means and sums of squares about the mean of a block's columns, and how those of two parts combine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sharkpy.ml.features.feature_blocks import FeatureBlock

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ColumnMoments:
    """Of the values that are not NaN, column by column: how many, their mean (0 of none) and sum of squares about it.

    `+` is the pairwise formula of Chan, Golub and LeVeque (1983): no digits are lost where the mean is large.
    """

    counts: npt.NDArray[np.int64]
    means: Array
    squares: Array

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        counts = self.counts + other.counts
        share = other.counts / np.maximum(counts, 1)
        steps = other.means - self.means
        squares = self.squares + other.squares + steps * steps * self.counts * share
        return ColumnMoments(counts, self.means + steps * share, squares)

    @property
    def variances(self) -> Array:
        """Of the population; NaN of a column without values."""
        with np.errstate(invalid="ignore"):
            found: Array = self.squares / np.where(self.counts > 0, self.counts, np.nan)
        return found


def column_moments(block: FeatureBlock, argument: None = None) -> ColumnMoments:
    """Kernel of a pass, in float64 whatever the block's type; infinite values make NaN of means and squares."""
    del argument
    num_features = block.X.shape[1]
    counts, means, squares = np.zeros(num_features, np.int64), np.zeros(num_features), np.zeros(num_features)
    with np.errstate(over="ignore", invalid="ignore"):
        for number in range(num_features):
            counts[number], means[number], squares[number] = _moments(block.X[:, number].astype(np.float64))
    return ColumnMoments(counts, means, squares)


def _moments(values: Array) -> tuple[int, float, float]:
    """Twice over the values, the second time about the mean; what the mean was rounded by is taken off again."""
    mean = values.mean() if len(values) else 0.0
    if np.isnan(mean):
        values = values[~np.isnan(values)]
        mean = values.mean() if len(values) else 0.0
    count = len(values)
    values = values - mean
    rest = values.sum() / max(count, 1)
    squares = np.square(values, out=values).sum() - count * rest * rest
    return count, float(mean + rest), float(squares)

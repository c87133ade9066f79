"""Moments of a block's columns, in one pass: counts, means, squares, and the triangular factor of centred columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sharkpy.base.records import dataclass
from sharkpy.columnar.compiled import compiled_sums
from sharkpy.ml.features.feature_blocks import FeatureBlock
from sharkpy.ml.models.kernels.strips import columns_of

Array = npt.NDArray[np.float64]
_STRIP = 4096


@dataclass(frozen=True, slots=True)
class ColumnMoments:
    """Moments of each column's values that are not NaN: count, mean (0 of none) and sum of squares about it.

    `+` is the pairwise formula of Chan, Golub and LeVeque (1983): no digits are lost if the mean is large.
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
        """Variances of the population; NaN for a column without values."""
        with np.errstate(invalid="ignore"):
            found: Array = self.squares / np.where(self.counts > 0, self.counts, np.nan)
        return found


def column_moments(block: FeatureBlock, argument: None = None) -> ColumnMoments:
    """Return moments of a block: kernel of a pass, in float64 for any type. Infinite values make means and
    squares NaN.
    """
    del argument
    num_features = block.X.shape[1]
    found = ColumnMoments(np.zeros(num_features, np.int64), np.zeros(num_features), np.zeros(num_features))
    _add_moments(columns_of(block.X), block.num_rows, found.counts, found.means, found.squares)
    return found


@compiled_sums
def _add_moments(
    columns: npt.NDArray[np.floating[Any]],
    num_rows: int,
    counts: npt.NDArray[np.int64],
    means: Array,
    squares: Array,
) -> None:
    """Add moments strip by strip, each read twice: the second time about its mean, correcting for the mean's rounding.

    A strip's moments combine with those before it as in `ColumnMoments.__add__`.
    """
    for j in range(len(columns)):
        for start in range(0, num_rows, _STRIP):
            values = columns[j, start : min(start + _STRIP, num_rows)]
            total = 0.0
            number = 0
            for i in range(len(values)):
                value = np.float64(values[i])
                is_there = not np.isnan(value)
                total += value if is_there else 0.0
                number += is_there
            if number == 0:
                continue
            mean = total / number
            rest = 0.0
            square = 0.0
            for i in range(len(values)):
                value = np.float64(values[i])
                away = 0.0 if np.isnan(value) else value - mean
                rest += away
                square += away * away
            square -= rest * rest / number
            mean += rest / number
            before = counts[j]
            counts[j] = before + number
            step = mean - means[j]
            share = number / counts[j]
            squares[j] += square + step * step * before * share
            means[j] += step * share


_STRIP_ROWS = 16_384


@dataclass(frozen=True, slots=True)
class Scatter:
    """Factor of columns Z, which are the features and then the label, if any.

    `mean` (columns,); `factor` R (at most as many rows as columns, columns), upper triangular.
    """

    num_rows: int
    mean: npt.NDArray[np.float64]
    factor: npt.NDArray[np.float64]

    def __add__(self, other: Scatter) -> Scatter:
        num_rows = self.num_rows + other.num_rows
        if not self.num_rows or not other.num_rows:
            return self if self.num_rows else other
        step = other.mean - self.mean
        between = step * np.sqrt(self.num_rows * (other.num_rows / num_rows))
        mean = self.mean + step * (other.num_rows / num_rows)
        return Scatter(num_rows, mean, _triangle(np.vstack([self.factor, other.factor, between])))

    def rounding(self) -> npt.NDArray[np.float64]:
        """Length (columns,) that rounding may leave of a centred column that is really constant."""
        found: npt.NDArray[np.float64] = 8 * np.finfo(np.float64).eps * np.abs(self.mean) * np.sqrt(self.num_rows)
        return found

    def uncentred(self) -> npt.NDArray[np.float64]:
        """R of the uncentred columns: R'R = Z'Z."""
        return _triangle(np.vstack([self.factor, self.mean * np.sqrt(self.num_rows)]))


def scatter(block: FeatureBlock, argument: None = None) -> Scatter:
    """Return the factor of a block: kernel of a pass. A block without rows has means of 0."""
    del argument
    num_features = block.X.shape[1]
    num_columns = num_features + (block.y is not None)
    found = Scatter(0, np.zeros(num_columns), np.zeros((0, num_columns)))
    strip = max(_STRIP_ROWS if num_columns <= 64 else 4096, 2 * num_columns)
    for start in range(0, block.num_rows, strip):
        rows = slice(start, min(start + strip, block.num_rows))
        part = np.empty((rows.stop - rows.start, num_columns), order="F")
        part[:, :num_features] = block.X[rows]
        if block.y is not None:
            part[:, num_features] = block.y[rows]
        with np.errstate(invalid="ignore", over="ignore"):
            mean = part.mean(axis=0)
            part -= mean
        found += Scatter(len(part), mean, _triangle(part))
    return found


def _triangle(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(np.linalg.qr(rows, mode="r"))

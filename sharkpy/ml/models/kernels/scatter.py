"""Triangular factor of a block's centred columns: all that least squares needs of the rows, in one pass.

With R'R = (Z - mean)'(Z - mean), R has the singular values of the centred columns themselves, while a matrix of moments
has their squares and half of the digits. Factors combine as the moments of Chan, Golub and LeVeque (1983) do, as rows
under rows (tall-skinny QR: Demmel, Grigori, Hoemmen and Langou, 2012).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sharkpy.ml.features.feature_blocks import FeatureBlock

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

"""Lloyd's iterations: rows to their nearest centre, centres to the mean of their rows, one pass each time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sharkpy.base.cancellation import check_cancelled
from sharkpy.ml.features.feature_blocks import FeatureBlocks
from sharkpy.ml.features.refuse_not_finite import refuse_not_finite
from sharkpy.ml.models import kmeans_passes as passes
from sharkpy.ml.models.kmeans_passes import Array, Cells, DistantRows


@dataclass(frozen=True, slots=True)
class Clustering:
    """Centres after some iterations, the number of rows of each, and the inertia before each iteration and at the
    end.
    """

    centres: Array
    counts: Array
    inertias: tuple[float, ...]

    @property
    def inertia(self) -> float:
        return self.inertias[-1]

    @property
    def num_iterations(self) -> int:
        return len(self.inertias) - 1


def lloyd(blocks: FeatureBlocks, centres: Array, max_iter: int, tolerance: float) -> Clustering:
    """Iterate until the squared distances that centres move add up to `tolerance` at most, as in scikit-learn.

    Centres stop moving when labels stay equal. Raise DataError if a distance is not finite.
    """
    inertias: list[float] = []
    while True:
        check_cancelled()
        found = Cells.of(blocks, centres)
        if not np.isfinite(found.inertia):
            refuse_not_finite(blocks)
        inertias.append(found.inertia)
        moved = _means(_without_empty(blocks, centres, found))
        shift = float(np.square(moved - centres).sum())
        centres = moved
        if shift == 0:
            return Clustering(centres, found.counts, (*inertias, found.inertia))
        if shift <= tolerance or len(inertias) == max_iter:
            last = Cells.of(blocks, centres)
            return Clustering(centres, last.counts, (*inertias, last.inertia))


def _without_empty(blocks: FeatureBlocks, centres: Array, found: Cells) -> Cells:
    """Give each centre without rows one of the rows that are farthest from their centres. This is rare, and takes
    another pass.
    """
    empty = np.flatnonzero(found.counts == 0)
    if not len(empty):
        return found
    candidates = DistantRows.joined(blocks.run(passes.farthest_rows, (centres, len(empty))))
    farthest = candidates.least(len(empty))
    sums, counts = found.sums.copy(), found.counts.copy()
    for cluster, row, label, distance in zip(empty, farthest.rows, farthest.labels, farthest.distances, strict=False):
        # Rows on their centre are of clusters as good as they can be.
        if distance > 0:
            sums[label] -= row
            counts[label] -= 1
            sums[cluster], counts[cluster] = row, 1
    return Cells(sums, counts, found.inertia)


def _means(found: Cells) -> Array:
    """Return the mean of the rows of each centre. A centre without rows is placed on the one with most rows."""
    has_rows = found.counts > 0
    means = found.sums / np.where(has_rows, found.counts, 1)[:, np.newaxis]
    return np.where(has_rows[:, np.newaxis], means, means[found.counts.argmax()])

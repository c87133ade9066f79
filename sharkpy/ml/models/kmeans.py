"""K-means: a given number of centres, each the mean of the rows that are nearest to it, found by Lloyd's iterations."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np
import numpy.typing as npt

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import DataError, ParameterError
from sharkpy.base.records import dataclass
from sharkpy.ml.features.feature_blocks import ArrayBlocks, FeatureBlock, FeatureBlocks, Matrix, refuse_not_finite
from sharkpy.ml.features.training_data import training_blocks
from sharkpy.ml.models import kmeans_passes as passes
from sharkpy.ml.models.estimator import (
    SEED,
    Rule,
    check_features,
    integer_at_least,
    number_above,
    number_at_least,
    warn,
)
from sharkpy.ml.models.kmeans_passes import Array, Cells, DistantRows
from sharkpy.ml.models.kmeans_start import STARTS, Start, Survey
from sharkpy.ml.models.predictor import Predictor, is_table
from sharkpy.values.types import INT, DataType

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.ml.rdd.table_rdd import TableRDD

_RANDOM_RUNS = 10

_INIT = Rule(
    " or ".join(f'"{name}"' for name in STARTS) + ", or an array of shape (n_clusters, features)",
    lambda value: value in STARTS if isinstance(value, str) else isinstance(value, (np.ndarray, list, tuple)),
)
_RUNS = Rule(
    'an integer of at least 1, or "auto"',
    lambda value: (isinstance(value, str) and value == "auto") or integer_at_least(1).holds(value),
)


class KMeans(Predictor):
    """K-means by Lloyd's algorithm from a k-means‖ start; conventions, convergence and empty clusters are
    scikit-learn's.

    `init` "k-means||", "k-means++", "random", or the first centres. Of `n_init` runs the one with the least inertia is
    kept; "auto" is 10 of random starts, else 1. A run ends after `max_iter` iterations, or when the squared distances
    that centres move add up to at most `tol` times the mean variance of the features. k-means‖ draws about
    `oversampling` rows (default: 2 n_clusters) in each of `init_steps` rounds. `random_state` None gives different
    results on each call.

    Of equally near centres the first one counts. Rows of float32 are compared in float32, all sums are float64.

    Fitted: `cluster_centers_` (n_clusters, features), `inertia_`, `n_iter_`, `inertia_history_` (before the first
    iteration and after each), `cluster_sizes_`, and for an array `labels_`.
    """

    estimator_type = "clusterer"
    prediction_column = "cluster"
    not_saved = frozenset({"labels_"})
    parameter_rules: ClassVar[Mapping[str, Rule]] = {
        "n_clusters": integer_at_least(1),
        "init": _INIT,
        "n_init": _RUNS,
        "max_iter": integer_at_least(1),
        "tol": number_at_least(0),
        "random_state": SEED,
        "oversampling": number_above(0).or_none(),
        "init_steps": integer_at_least(1),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: str | npt.ArrayLike = "k-means||",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: int | None = 0,
        oversampling: float | None = None,
        init_steps: int = 2,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.oversampling = oversampling
        self.init_steps = init_steps

    def fit(
        self,
        data: object,
        y: object = None,
        *,
        features: Sequence[str] | None = None,
        na: str = "error",
        session: EngineSession | None = None,
    ) -> Self:
        """Fit the centres: one pass over the rows for each iteration, a few for the start. `y` is ignored.

        DataError if there are fewer rows than clusters; ConvergenceWarning if there are fewer distinct ones.
        """
        del y
        self._check_parameters()
        blocks = training_blocks(data, features=features, na=na, session=session)
        check_features(blocks, self)
        best = self._best_run(blocks)
        labels = np.concatenate(blocks.run(passes.labels, best.centres)) if isinstance(blocks, ArrayBlocks) else None
        self._set_features(blocks)
        self.cluster_centers_ = best.centres
        self.cluster_sizes_ = best.counts
        self.inertia_ = best.inertia
        self.n_iter_ = best.num_iterations
        self.inertia_history_ = np.array(best.inertias)
        vars(self).pop("labels_", None)
        if labels is not None:
            self.labels_ = labels
        if (found := np.count_nonzero(best.counts)) < self.n_clusters:
            warn(f"{found} distinct clusters were found for n_clusters={self.n_clusters}: the data may have equal rows")
        return self

    def _best_run(self, blocks: FeatureBlocks) -> Clustering:
        if blocks.num_rows < self.n_clusters:
            raise DataError(f"{self.n_clusters} clusters of {blocks.num_rows} rows: there must be as many rows")
        given = None if isinstance(self.init, str) else self._given_centres(len(blocks.names))
        num_runs = self._num_runs()
        seed = secrets.randbits(64) if self.random_state is None else int(self.random_state)
        passes.compile_loops(blocks.dtype)
        survey = Survey.of(blocks, seed, 0 if given is not None else num_runs)
        variance = float(survey.moments.variances.mean())
        if not np.isfinite(variance) or (survey.moments.counts < survey.num_rows).any():
            refuse_not_finite(blocks)
        runs = []
        for run in range(num_runs):
            start = Start(blocks, survey, self.n_clusters, seed, run, self._oversampling(), self.init_steps)
            centres = given if given is not None else STARTS[str(self.init)](start)
            runs.append(lloyd(blocks, centres, self.max_iter, self.tol * variance))
        return min(runs, key=lambda found: found.inertia)

    def _num_runs(self) -> int:
        if not isinstance(self.init, str):
            return 1
        if isinstance(self.n_init, str):
            return _RANDOM_RUNS if self.init == "random" else 1
        return self.n_init

    def _oversampling(self) -> float:
        return 2.0 * self.n_clusters if self.oversampling is None else float(self.oversampling)

    def _given_centres(self, num_features: int) -> Array:
        try:
            centres = np.array(self.init, np.float64)
        except (TypeError, ValueError):
            raise ParameterError('parameter "init" of KMeans is not an array of numbers') from None
        if centres.shape != (self.n_clusters, num_features):
            raise ParameterError(
                f'parameter "init" of KMeans has shape {centres.shape}, '
                f"not (n_clusters, features) = {(self.n_clusters, num_features)}"
            )
        if not np.isfinite(centres).all():
            raise ParameterError('parameter "init" of KMeans holds NaN or infinity')
        return centres

    @property
    def prediction_type(self) -> DataType:
        return INT

    def _predicted(self, X: Matrix) -> Array:
        return passes.labels(FeatureBlock(0, X), self.cluster_centers_)

    @overload
    def fit_predict(self, data: TableRDD, y: object = None, **options: Any) -> TableRDD: ...
    @overload
    def fit_predict(self, data: npt.ArrayLike, y: object = None, **options: Any) -> Array: ...
    def fit_predict(self, data: npt.ArrayLike | TableRDD, y: object = None, **options: Any) -> Array | TableRDD:
        """Fit with options, then return the labels of an array, or a TableRDD with the column `cluster`."""
        self.fit(data, y, **options)
        if is_table(data):
            return self.predict(data)
        return self.labels_ if "labels_" in vars(self) else self.predict(data)

    @overload
    def transform(self, X: TableRDD) -> TableRDD: ...
    @overload
    def transform(self, X: npt.ArrayLike) -> Array: ...
    def transform(self, X: npt.ArrayLike | TableRDD) -> Array | TableRDD:
        """Distances (rows, n_clusters) from the centres, float64; for a TableRDD, its rows with a column `distances` of
        array<double>.
        """
        if is_table(X):
            return self._with_column(X, "distances", "transform")
        return np.concatenate(self._input_blocks(X).run(_distances, self.cluster_centers_))

    @overload
    def fit_transform(self, data: TableRDD, y: object = None, **options: Any) -> TableRDD: ...
    @overload
    def fit_transform(self, data: npt.ArrayLike, y: object = None, **options: Any) -> Array: ...
    def fit_transform(self, data: npt.ArrayLike | TableRDD, y: object = None, **options: Any) -> Array | TableRDD:
        return self.fit(data, y, **options).transform(data)

    def get_feature_names_out(self, input_features: object = None) -> Array:
        """Names of the columns that `transform` makes."""
        del input_features
        self.check_fitted()
        return np.array([f"kmeans{cluster}" for cluster in range(self.n_clusters)], dtype=object)

    def score(self, X: object, y: object = None, *, na: str = "error", session: EngineSession | None = None) -> float:
        """Negated inertia of the rows of any data that `fit` takes."""
        del y
        self.check_fitted()
        has_blocks = hasattr(X, "run") or hasattr(X, "blocks")
        if isinstance(X, str) or is_table(X) or has_blocks:
            names = None if has_blocks else tuple(map(str, self.feature_names_in_))
            return -_inertia(training_blocks(X, features=names, na=na, session=session), self.cluster_centers_)
        return -_inertia(self._input_blocks(X), self.cluster_centers_)


def _inertia(blocks: FeatureBlocks, centres: Array) -> float:
    return passes.Cells.of(blocks, centres).inertia


def _distances(block: FeatureBlock, centres: Array) -> Array:
    from scipy.spatial.distance import cdist

    found: Array = cdist(block.X, centres)
    return found


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

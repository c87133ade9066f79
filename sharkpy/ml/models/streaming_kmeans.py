"""K-means that follows its data, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import DataError
from sharkpy.ml.features.training_data import training_blocks
from sharkpy.ml.models import kmeans_passes as passes
from sharkpy.ml.models.estimator import Rule, check_features, number_at_least
from sharkpy.ml.models.kmeans import KMeans
from sharkpy.ml.models.predictor import is_in_process

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession

_DECAY = Rule(
    "a number from 0 to 1",
    lambda value: number_at_least(0).holds(value) and value <= 1,  # type: ignore[operator]
)


class StreamingKMeans(KMeans):
    """K-means whose centres move with each batch of `partial_fit`: to the mean of the batch's rows and of all earlier
    rows. Earlier rows weigh `decay` times as much after each batch: 1 lets all rows count equally, 0 only the newest
    batch.

    The first batch is fitted as by `KMeans`, with its parameters. If `init` has the first centres, they move from the
    first batch on. A centre without rows does not move.

    Fitted: the attributes of `KMeans`, and `cluster_weights_` (n_clusters,), the weight of each centre's rows.
    `cluster_sizes_` and `inertia_` describe the last batch.
    """

    parameter_rules: ClassVar[Mapping[str, Rule]] = {**KMeans.parameter_rules, "decay": _DECAY}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        decay: float = 1.0,
        init: str | npt.ArrayLike = "k-means||",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: int | None = 0,
        oversampling: float | None = None,
        init_steps: int = 2,
    ) -> None:
        super().__init__(
            n_clusters,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            oversampling=oversampling,
            init_steps=init_steps,
        )
        self.decay = decay

    def fit(
        self,
        data: object,
        y: object = None,
        *,
        features: Sequence[str] | None = None,
        na: str = "error",
        session: EngineSession | None = None,
    ) -> Self:
        """Fit the centres as `KMeans` does, and forget all earlier batches."""
        super().fit(data, y, features=features, na=na, session=session)
        self.cluster_weights_ = self.cluster_sizes_.astype(np.float64)
        return self

    def partial_fit(
        self,
        data: object,
        y: object = None,
        *,
        features: Sequence[str] | None = None,
        na: str = "error",
        session: EngineSession | None = None,
    ) -> Self:
        """Move the centres by one more batch, of any data that `fit` takes; one pass over its rows. `y` is ignored.

        Raise DataError if the first batch has fewer rows than clusters, and `init` has no centres.
        """
        self._check_parameters()
        if not self.is_fitted and isinstance(self.init, str):
            return self.fit(data, y, features=features, na=na, session=session)
        if self.is_fitted and is_in_process(data):
            features = self._known_features(data) or features
        elif self.is_fitted:
            features = tuple(map(str, self.feature_names_in_))
        blocks = training_blocks(data, features=features, na=na, session=session)
        check_features(blocks, self)
        if self.is_fitted and len(blocks.names) != self.n_features_in_:
            raise DataError(f"the batch has {len(blocks.names)} features, the model {self._features()}")
        if self.is_fitted:
            centres, weights = self.cluster_centers_, self.cluster_weights_ * self.decay
        else:
            centres = self._given_centres(len(blocks.names))
            weights = np.zeros(len(centres))
        found = passes.Cells.of(blocks, centres)
        total = weights + found.counts
        moved = np.divide(
            centres * weights[:, None] + found.sums, total[:, None], out=centres.copy(), where=total[:, None] > 0
        )
        self._move(moved, total, found)
        if "n_features_in_" not in vars(self):
            self._set_features(blocks)
        return self

    def _move(self, centres: npt.NDArray[Any], weights: npt.NDArray[Any], found: passes.Cells) -> None:
        self.cluster_centers_, self.cluster_weights_ = centres, weights
        self.cluster_sizes_, self.inertia_ = found.counts, found.inertia
        self.inertia_history_, self.n_iter_ = np.array([found.inertia]), 1
        vars(self).pop("labels_", None)

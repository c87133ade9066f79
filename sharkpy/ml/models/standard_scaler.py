"""Scaling of features to mean 0 and variance 1, for gradient methods and distances."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import DataError, TypeMismatchError
from sharkpy.ml.features.feature_blocks import POLICIES, FeatureBlock, check_policy, refuse_not_finite
from sharkpy.ml.features.feature_plan import is_feature
from sharkpy.ml.features.training_data import array_blocks, training_blocks
from sharkpy.ml.models.estimator import BOOLEAN, Estimator, Rule, check_features
from sharkpy.ml.models.kernels.column_moments import ColumnMoments, column_moments
from sharkpy.ml.models.predictor import is_table
from sharkpy.ml.models.transformer_table import Named, input_table, replace_columns
from sharkpy.plan.expr import Call, Cast, ColumnRef, Expr, Literal
from sharkpy.values.types import DOUBLE

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.ml.rdd.table_rdd import TableRDD

Array = npt.NDArray[Any]
_IGNORE = "ignore"


class StandardScaler(Estimator):
    """Scaler of each feature to (x - mean) / standard deviation, by the variance of the population, as scikit-learn's.

    For a table the engine computes the moments by one aggregate query, or reads them off the statistics of the table's
    blocks: no features are made. A constant feature is not scaled.

    Fitted: `mean_`, `var_`, `scale_` (features,), `n_samples_seen_` (an array if features miss different numbers of
    values).
    """

    estimator_type = "transformer"
    parameter_rules: ClassVar[Mapping[str, Rule]] = {"with_mean": BOOLEAN, "with_std": BOOLEAN}

    def __init__(self, *, with_mean: bool = True, with_std: bool = True) -> None:
        self.with_mean = with_mean
        self.with_std = with_std

    def fit(
        self,
        data: object,
        y: object = None,
        *,
        features: Sequence[str] | None = None,
        na: str = "error",
        session: EngineSession | None = None,
    ) -> Self:
        """Compute means and variances; `data` as `training_blocks` takes it, `y` is ignored.

        `na`: the policies of `feature_blocks`, and "ignore": missing values do not count, as in scikit-learn.
        """
        del y
        self._check_parameters()
        check_policy(na, (*POLICIES, _IGNORE))
        names, num_rows, moments = self._moments(data, features, na, session)
        for name, count in zip(names, moments.counts, strict=True):
            if not count:
                raise DataError(f'column "{name}" has no value')
        if na == "mean":
            # Rows filled with the mean leave the squares as they are.
            moments = ColumnMoments(np.full_like(moments.counts, num_rows), moments.means, moments.squares)
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        is_used = self.with_mean or self.with_std
        counts, variances = moments.counts, moments.variances
        self.mean_ = moments.means if is_used else None
        self.var_ = variances if self.with_std else None
        self.scale_ = _scales(moments) if self.with_std else None
        self.n_samples_seen_ = int(counts[0]) if (counts == counts[0]).all() else counts
        return self

    def _moments(
        self, data: object, features: Sequence[str] | None, na: str, session: EngineSession | None
    ) -> tuple[tuple[str, ...], int, ColumnMoments]:
        if (table := input_table(data, session)) is not None:
            from sharkpy.ml.models.transformer_table import table_moments

            found = table_moments(table, features, na)
            return found.names, found.num_rows, found.moments
        if na == _IGNORE and not hasattr(data, "run") and not hasattr(data, "blocks"):
            blocks: Any = array_blocks(data, features=features, na="keep")
        else:
            blocks = training_blocks(data, features=features, na="error" if na == _IGNORE else na, session=session)
        check_features(blocks, self)
        moments: ColumnMoments = functools.reduce(operator.add, blocks.run(column_moments))
        is_finite = np.isfinite(moments.squares).all()
        if not is_finite or (na != _IGNORE and (moments.counts < blocks.num_rows).any()):
            refuse_not_finite(blocks)
        return blocks.names, blocks.num_rows, moments

    @overload
    def transform(self, X: TableRDD) -> TableRDD: ...
    @overload
    def transform(self, X: npt.ArrayLike) -> Array: ...
    def transform(self, X: npt.ArrayLike | TableRDD) -> Array | TableRDD:
        """Scale an array to one of its type, or the features of a TableRDD to DOUBLE, within its query.

        Missing values stay: NaN of arrays, NULL and NaN of tables.
        """
        found: Array | TableRDD = self._changed(X, _scaled, _scaled_expr)
        return found

    @overload
    def inverse_transform(self, X: TableRDD) -> TableRDD: ...
    @overload
    def inverse_transform(self, X: npt.ArrayLike) -> Array: ...
    def inverse_transform(self, X: npt.ArrayLike | TableRDD) -> Array | TableRDD:
        """Undo the scaling."""
        found: Array | TableRDD = self._changed(X, _unscaled, _unscaled_expr)
        return found

    def _changed(self, X: Any, of_block: Any, of_column: Any) -> Any:
        self.check_fitted()
        steps = self._steps()
        if not is_table(X):
            return np.concatenate(self._input_blocks(X, na="keep").run(of_block, steps))
        changes = {
            str(name): functools.partial(_replaced, of_column, *step)
            for name, *step in zip(self.feature_names_in_, *steps, strict=True)
        }
        return X.changed(lambda plan: replace_columns(plan, changes, "StandardScaler"))

    def _steps(self) -> tuple[Array, Array]:
        """Subtrahend and divisor of each feature."""
        means = self.mean_ if self.with_mean and self.mean_ is not None else np.zeros(self.n_features_in_)
        return means, self.scale_ if self.scale_ is not None else np.ones(self.n_features_in_)

    @overload
    def fit_transform(self, data: TableRDD, y: object = None, **options: Any) -> TableRDD: ...
    @overload
    def fit_transform(self, data: npt.ArrayLike, y: object = None, **options: Any) -> Array: ...
    def fit_transform(self, data: npt.ArrayLike | TableRDD, y: object = None, **options: Any) -> Array | TableRDD:
        return self.fit(data, y, **options).transform(data)

    def get_feature_names_out(self, input_features: object = None) -> Array:
        """Names of the features: their columns keep their names."""
        del input_features
        self.check_fitted()
        return self.feature_names_in_


def _scales(moments: ColumnMoments) -> Array:
    """Return the standard deviations; 1 for features whose variance is only the rounding of a constant."""
    counts, variances = moments.counts, moments.variances
    noise = np.finfo(np.float64).eps * counts
    is_constant = variances <= noise * variances + np.square(noise * moments.means)
    return np.where(is_constant, 1.0, np.sqrt(variances))


def _scaled(block: FeatureBlock, steps: tuple[Array, Array]) -> Array:
    means, scales = steps
    scaled: Array = ((block.X - means) / scales).astype(block.X.dtype, copy=False)
    return scaled


def _unscaled(block: FeatureBlock, steps: tuple[Array, Array]) -> Array:
    means, scales = steps
    unscaled: Array = (block.X * scales + means).astype(block.X.dtype, copy=False)
    return unscaled


def _replaced(of_column: Any, mean: float, scale: float, column: ColumnRef) -> list[Named]:
    if not is_feature(column.dtype):
        raise TypeMismatchError(f'column "{column.name}" is not numeric: {column.dtype}')
    value = column if column.dtype == DOUBLE else Cast(column, DOUBLE)
    return [(column.name, of_column(value, Literal(float(mean), DOUBLE), Literal(float(scale), DOUBLE)))]


def _scaled_expr(value: Expr, mean: Expr, scale: Expr) -> Expr:
    return Call("divide", (Call("subtract", (value, mean), DOUBLE), scale), DOUBLE)


def _unscaled_expr(value: Expr, mean: Expr, scale: Expr) -> Expr:
    return Call("add", (Call("multiply", (value, scale), DOUBLE), mean), DOUBLE)

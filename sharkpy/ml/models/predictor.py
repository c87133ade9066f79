"""Models that predict a value for each row: on arrays, on tables, and in SQL."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import DataError
from sharkpy.columnar.encodings.matrix import NotFinite
from sharkpy.ml.features.feature_blocks import FeatureBlock, FeatureBlocks, Matrix
from sharkpy.ml.features.training_data import training_blocks
from sharkpy.ml.models.estimator import Estimator
from sharkpy.values.types import DataType

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.ml.rdd.table_rdd import TableRDD


class Predictor(Estimator):
    """Model that predicts. A subclass implements `prediction_type` and `_predicted`; `predict` and SQL's `predict` use
    these.
    """

    prediction_column: ClassVar[str] = "prediction"
    """Name of the column that `predict` adds to a table."""

    @property
    def prediction_type(self) -> DataType:
        """Type of the column that `predict` adds to a table, and of SQL's `predict`."""
        raise NotImplementedError

    def _predicted(self, X: Matrix) -> npt.NDArray[Any]:
        """Predictions, one value a row of a checked matrix."""
        raise NotImplementedError

    @overload
    def predict(self, X: TableRDD) -> TableRDD: ...
    @overload
    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]: ...
    def predict(self, X: npt.ArrayLike | TableRDD) -> npt.NDArray[Any] | TableRDD:
        """Predict an array of one value a row of an array, or a TableRDD with one more column, planned lazily."""
        if is_table(X):
            return self._with_column(X)
        return np.concatenate(self._input_blocks(X).run(predicted_block, self))

    def _with_column(self, table: TableRDD, name: str | None = None, method: str = "predict") -> TableRDD:
        """Table with one more column of the results of `method`."""
        from sharkpy.ml.generate.model_function import with_prediction

        self.check_fitted()
        return with_prediction(table, self, name, method)

    def predict_arrays(self, columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Predict from the features as columns of equal length, in the order of `feature_names_in_`; they may have no
        rows.
        """
        self.check_fitted()
        if len(columns) != self.n_features_in_:
            raise DataError(
                f"{len(columns)} columns were given; this {type(self).__name__} was fitted with {self._features()}"
            )
        single = all(column.dtype == np.float32 for column in columns)
        matrix = np.empty((len(columns[0]), len(columns)), np.float32 if single else np.float64, order="F")
        for number, column in enumerate(columns):
            matrix[:, number] = column
        NotFinite.of(matrix).check(self.feature_names_in_.tolist())
        return self._predicted(matrix)

    def _scored_blocks(self, data: object, y: object, na: str, session: EngineSession | None) -> FeatureBlocks:
        """Return blocks of features and labels of any data that `fit` takes. Raise DataError without labels, or if they
        do not fit the model.
        """
        self.check_fitted()
        if is_in_process(data):
            blocks: FeatureBlocks = self._input_blocks(data, y)
        else:
            names = tuple(map(str, self.feature_names_in_)) if isinstance(data, str) or is_table(data) else None
            blocks = training_blocks(data, y, features=names, na=na, session=session)
        if len(blocks.names) != self.n_features_in_:
            raise DataError(
                f"the data has {len(blocks.names)} features; "
                f"this {type(self).__name__} was fitted with {self._features()}"
            )
        check_labels(blocks, self)
        return blocks


def check_labels(blocks: FeatureBlocks, model: Predictor) -> None:
    """Raise DataError if there are no labels."""
    if not blocks.has_label:
        hint = "give y: an array, or the name of the label's column"
        raise DataError(f"{type(model).__name__} needs labels", hint=hint)


def predicted_block(block: FeatureBlock, model: Predictor) -> npt.NDArray[Any]:
    return model._predicted(block.X)


def is_table(data: object) -> TypeIs[TableRDD]:
    """True for a TableRDD. Its module, which imports PySpark, is not loaded for the test."""
    module = sys.modules.get("sharkpy.ml.rdd.table_rdd")
    return module is not None and isinstance(data, module.TableRDD)


def is_in_process(data: object) -> bool:
    """True for arrays and data frames; False for tables, their names, and blocks."""
    return not (isinstance(data, str) or is_table(data) or hasattr(type(data), "run") or hasattr(type(data), "blocks"))

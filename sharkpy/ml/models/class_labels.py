"""Labels of classes: their numbers inside blocks, and the user's names for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import DataError, ParameterError
from sharkpy.base.records import dataclass
from sharkpy.ml.features.feature_blocks import FeatureBlock, FeatureBlocks

Array = npt.NDArray[Any]

MAX_CLASSES = 1000
_FEW = 16
"""Number of classes up to which each is counted separately, which is faster than sorting."""


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """Distinct labels: `values` in ascending order, and the number of rows of each."""

    values: npt.NDArray[np.float64]
    rows: npt.NDArray[np.int64]

    @classmethod
    def of(cls, blocks: FeatureBlocks) -> ClassCounts:
        """Count the classes in one pass. Raise DataError if a label is missing, or if there is only one class or too
        many.
        """
        counted = blocks.run(count_labels, MAX_CLASSES)
        values, place = np.unique(np.concatenate([found.values for found in counted]), return_inverse=True)
        rows = np.bincount(place, np.concatenate([found.rows for found in counted]), len(values)).astype(np.int64)
        if missing := int(rows[~np.isfinite(values)].sum()):
            raise DataError(f"the label is missing (NULL or NaN) or infinite in {missing:,} rows")
        check_number(len(values))
        if len(values) < 2:
            raise DataError(f"the label has one class only: {values[0]:g}; a classifier needs two")
        return cls(values, rows)


def check_exact(values: npt.NDArray[np.float64], dtype: np.dtype[Any]) -> None:
    """Raise DataError if blocks of a type may have merged different labels: whole numbers beyond its digits."""
    digits = np.finfo(dtype).nmant + 1
    if np.any(np.abs(values) >= 2.0**digits):
        raise DataError(f"labels of 2^{digits} and more are not told apart in blocks of {dtype}", hint="fit the table")


def check_number(classes: int) -> None:
    """Raise DataError if there are too many classes."""
    if classes > MAX_CLASSES:
        hint = "a number that is no class is predicted by LinearRegression"
        raise DataError(f"the label has more than {MAX_CLASSES:,} different values", hint=hint)


def count_labels(block: FeatureBlock, limit: int) -> ClassCounts:
    """Count labels: kernel of a pass. Of many values it returns only enough to show that the limit is exceeded."""
    assert block.y is not None
    likely = np.unique(block.y[:1024])
    if len(likely) <= _FEW:
        rows = np.array([np.count_nonzero(block.y == value) for value in likely], np.int64)
        if rows.sum() == len(block.y):
            return ClassCounts(likely.astype(np.float64), rows)
    values, rows = np.unique(block.y, return_counts=True)
    is_number = np.isfinite(values)
    kept = np.flatnonzero(~is_number).tolist() + np.flatnonzero(is_number)[: limit + 1].tolist()
    return ClassCounts(values[kept].astype(np.float64), rows[kept])


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels as `y` of blocks, numbers or the name of a column of numbers, with their classes. The number of a class is
    its place in `classes`, or, if that is None, the class itself, of type `dtype`.
    """

    y: Array | str
    dtype: np.dtype[Any]
    classes: Array | None = None

    @classmethod
    def of(cls, labels: Array) -> Labels:
        """Return the labels of an array. Text, and integers that float32 cannot represent, are numbered. Raise
        DataError if one is None.
        """
        if labels.dtype.kind in "bf" or (labels.dtype.kind in "iu" and np.all(np.abs(labels) < 2**24)):
            return cls(labels, labels.dtype)
        if labels.ndim != 1:
            raise DataError(f"the labels have {labels.ndim} dimensions, not 1")
        try:
            classes, places = np.unique(labels, return_inverse=True)
        except TypeError:
            missing = sum(value is None for value in labels.tolist())
            fact = f"missing in {missing:,} rows" if missing else "of types that have no common order"
            raise DataError(f"the labels are {fact}") from None
        return cls(places.astype(np.float64), classes.dtype, classes)

    def named(self, values: npt.NDArray[np.float64]) -> Array:
        """Return the user's classes for labels' values in blocks."""
        return values.astype(self.dtype) if self.classes is None else self.classes[values.astype(np.int64)]


def named_by_value(values: npt.NDArray[np.float64]) -> Array:
    """Return classes of labels of unknown type: integers if all values are whole."""
    integers = values.astype(np.int64)
    return integers if np.array_equal(integers, values) else values


def class_weights(
    given: Mapping[Any, float] | str | None, classes: Array, rows: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return the weight of each class: from a mapping, 1 by default; "balanced" gives each class the same sum."""
    if given is None:
        return np.ones(len(classes))
    if isinstance(given, str):
        return np.asarray(rows.sum() / (len(classes) * rows.astype(np.float64)))
    for label in given:
        if label not in classes.tolist():
            raise ParameterError(
                f'parameter "class_weight" has a weight of {label!r}, which is none of the classes',
                hint=f"they are {', '.join(map(repr, classes.tolist()[:10]))}",
            )
    weights = np.array([given.get(label, 1.0) for label in classes.tolist()], np.float64)
    if not (np.isfinite(weights).all() and (weights >= 0).all() and (weights > 0).sum() > 1):
        raise ParameterError('parameter "class_weight" must have weights of at least 0, two of them above 0')
    return weights

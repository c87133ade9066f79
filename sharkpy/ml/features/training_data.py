"""Training data of estimators: arrays, data frames, tables, and features of tables, all checked and as blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import ColumnNotFoundError, DataError, TypeMismatchError, UnsupportedError, did_you_mean
from sharkpy.columnar.encodings.matrix import NotFinite
from sharkpy.execution.engine_session import newest_session
from sharkpy.execution.queries.plan_query import bind_text
from sharkpy.ml.features.feature_blocks import ArrayBlocks, FeatureBlocks, check_policy, float_type
from sharkpy.ml.features.feature_plan import feature_plan
from sharkpy.plan.logical import LogicalPlan

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession


def training_blocks(
    data: object,
    y: object = None,
    *,
    features: Sequence[str] | None = None,
    dtype: str | None = None,
    na: str = "error",
    session: EngineSession | None = None,
) -> FeatureBlocks:
    """Return blocks of features, with labels if `y` is given.

    1. `data`: an array of shape (rows, features), a data frame, a TableRDD, a FeatureRDD, FeatureBlocks, or the name of
       a table of `session` (default: the newest one that runs in this process).
    2. `y`: labels of shape (rows,) for an array, the name of the label's column for a table or a data frame.
    3. `features`: names of columns (default: of a table all numeric ones but the label).
    4. `dtype`: "float32" or "float64" (default: float64; float32 for an array of that type).
    5. `na`: see `feature_blocks.POLICIES`.

    Raise DataError, TypeMismatchError or ColumnNotFoundError that names the invalid argument or column.
    """
    check_policy(na)
    if isinstance(data, str):
        data = NamedTable(data, session or newest_session())
    if isinstance(getattr(data, "plan", None), LogicalPlan):
        return _of_query(data, y, features, dtype, na)
    if _is_blocks(data):
        return _as_they_are(data, y, features)
    if callable(blocks_of := getattr(data, "blocks", None)):
        return _as_they_are(blocks_of(), y, features)

    return array_blocks(data, y, features, dtype, na)


class NamedTable:
    """Table with a TableRDD's parts: a bound query and its session."""

    def __init__(self, name: str, session: EngineSession) -> None:
        quoted = ".".join(f"`{part.strip('`')}`" for part in name.strip().split("."))
        plan = bind_text(session, f"SELECT * FROM {quoted}")
        assert isinstance(plan, LogicalPlan)
        self.plan, self.session = plan, session


def _of_query(rows: Any, y: object, features: Sequence[str] | None, dtype: str | None, na: str) -> FeatureBlocks:
    if y is not None and not isinstance(y, str):
        raise DataError(
            "the labels of a table are one of its columns, not an array", hint="give the name of the column as y"
        )
    if not isinstance(rows, NamedTable):
        found: FeatureBlocks = rows.features(features, y, dtype or "float64", na).blocks()
        return found
    from sharkpy.ml.features.stored_blocks import StoredBlocks

    return StoredBlocks(rows.session, feature_plan(rows.plan, features, y, dtype, na))


def _is_blocks(data: object) -> bool:
    return all(hasattr(data, name) for name in ("names", "dtype", "num_rows", "has_label", "run"))


def _as_they_are(blocks: Any, y: object, features: Sequence[str] | None) -> FeatureBlocks:
    if y is not None or features is not None:
        raise DataError("blocks of features have their columns and labels: give neither y nor features")
    found: FeatureBlocks = blocks
    return found


_NUMERIC = "biuf"
"""Kinds of NumPy types that are numbers: booleans, integers, floats."""


def array_blocks(
    data: object, y: object = None, features: Sequence[str] | None = None, dtype: str | None = None, na: str = "error"
) -> ArrayBlocks:
    """Return blocks of a matrix of shape (rows, features) and of labels of shape (rows,).

    `features` chooses columns of data that has names (pandas, polars, Arrow), else names all columns. `y` may be the
    name of a column; that column is then excluded from the features. `dtype` None: float32 stays, other types become
    float64. `na` may also be "keep": missing values stay, as NaN.
    """
    columns = column_names(data)
    label = y if isinstance(y, str) else None
    if columns is None:
        if label is not None:
            raise DataError(f'"{label}" cannot be the label: the columns of an array have no names', hint="give y")
        matrix, names = _matrix(data, dtype, features), features
    else:
        names = _chosen(columns, features, label)
        matrix = _matrix_of_columns(data, names, dtype)
    if names is None:
        names = tuple(f"x{column}" for column in range(matrix.shape[1]))
    labels = None if y is None else _labels(data[label] if label else y, matrix, label or "y")  # type: ignore[index]
    matrix, labels = _without_missing(matrix, labels, names, label or "y", na)
    return ArrayBlocks.of(matrix, labels, names)


def column_names(data: object) -> tuple[str, ...] | None:
    """Return the column names of a data frame or an Arrow table, or None if `data` is an array."""
    names = getattr(data, "column_names", None)
    if names is None:
        names = getattr(data, "columns", None)
    return None if names is None or callable(names) else tuple(map(str, names))


def _chosen(columns: tuple[str, ...], features: Sequence[str] | None, label: str | None) -> tuple[str, ...]:
    for name in (*(features or ()), *([label] if label else ())):
        if name not in columns:
            raise ColumnNotFoundError(f'no column "{name}"', hint=did_you_mean(name, columns) or _there_are(columns))
    return tuple(features or (name for name in columns if name != label))


def _there_are(columns: Sequence[str]) -> str:
    return f"there are {', '.join(columns)}"


def _matrix(data: object, dtype: str | None, names: Sequence[str] | None) -> npt.NDArray[Any]:
    if type(data).__module__.startswith("scipy.sparse"):
        raise UnsupportedError("a sparse matrix as training data", hint="give its toarray()")
    try:
        array = np.asarray(data)
    except ValueError:
        raise DataError("the rows of the data have different lengths") from None
    if array.ndim != 2:
        hint = "one feature is data.reshape(-1, 1), one row data.reshape(1, -1)" if array.ndim == 1 else None
        raise DataError(f"the data has {array.ndim} dimensions, not 2: rows and features", hint=hint)
    if names is not None and len(names) != array.shape[1]:
        raise DataError(f"{len(names)} names for {array.shape[1]} columns")
    _check_shape(*array.shape)
    target = _target(dtype, [array])
    if array.dtype.kind in _NUMERIC:
        return array if array.dtype == target else array.astype(target, order="F")
    given = names or [f"x{column}" for column in range(array.shape[1])]
    columns = [_numbers(array[:, column], name, target) for column, name in enumerate(given)]
    return np.asfortranarray(np.stack(columns, axis=1))


def _matrix_of_columns(data: Any, names: Sequence[str], dtype: str | None) -> npt.NDArray[Any]:
    columns = [_array(data[name]) for name in names]
    _check_shape(len(columns[0]) if columns else 0, len(columns))
    target = _target(dtype, columns)
    matrix = np.empty((len(columns[0]), len(columns)), target, order="F")
    for position, (name, column) in enumerate(zip(names, columns, strict=True)):
        matrix[:, position] = _numbers(column, name, target)
    return matrix


def _array(column: Any) -> npt.NDArray[Any]:
    """Return the array of a data frame's column, with NaN for pandas' NA."""
    array = np.asarray(column)
    if array.dtype.kind == "O" and hasattr(column, "to_numpy") and getattr(column.dtype, "kind", "O") in _NUMERIC:
        array = column.to_numpy(dtype="float64", na_value=np.nan)
    return array


def _check_shape(num_rows: int, num_columns: int) -> None:
    if not num_columns:
        raise DataError("the data has no columns")
    if not num_rows:
        raise DataError("the data has no rows")


def _target(dtype: str | None, columns: Sequence[npt.NDArray[Any]]) -> np.dtype[Any]:
    if dtype is None and all(column.dtype == np.float32 for column in columns):
        return np.dtype(np.float32)
    return float_type(dtype)


def _numbers(column: npt.NDArray[Any], name: str, target: np.dtype[Any], kind: str = "column") -> npt.NDArray[Any]:
    """Return a column as floats, with NaN for None. Raise TypeMismatchError that names the column if it is not
    numeric.
    """
    is_numeric = column.dtype.kind in _NUMERIC
    if not is_numeric and column.dtype.kind != "O":
        raise _not_numeric(name, str(column.dtype), kind)
    try:
        return column.astype(target)
    except (ValueError, TypeError):
        odd = next((value for value in column if not isinstance(value, (int, float, type(None)))), None)
        raise _not_numeric(name, type(odd).__name__, kind) from None


def _not_numeric(name: str, found: str, kind: str) -> TypeMismatchError:
    hint = "OneHotEncoder makes numbers of categories" if kind == "column" else "number the classes"
    return TypeMismatchError(f'{kind} "{name}" is not numeric: {found}', hint=hint)


def _labels(y: object, matrix: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise DataError(f"the labels have {labels.ndim} dimensions, not 1")
    if len(labels) != len(matrix):
        raise DataError(f"{len(labels):,} labels for {len(matrix):,} rows")
    return _numbers(labels, name, matrix.dtype, "label")


def _without_missing(
    matrix: npt.NDArray[Any], labels: npt.NDArray[Any] | None, names: Sequence[str], label: str, na: str
) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    found = NotFinite.of(matrix)
    if na == "keep":
        found = NotFinite(np.zeros_like(found.missing), found.infinite)
    of_labels = None if labels is None else NotFinite.of(labels.reshape(-1, 1))
    if na == "drop" and (found.missing.any() or (of_labels is not None and of_labels.missing.any())):
        kept = ~np.isnan(matrix).any(axis=1)
        kept &= True if labels is None else ~np.isnan(labels)
        if not kept.any():
            raise DataError("no row is left: each one has a missing value (NULL or NaN)")
        return _without_missing(matrix[kept], None if labels is None else labels[kept], names, label, "error")
    if na == "mean" and found.missing.any():
        return _without_missing(_with_means(matrix, names), labels, names, label, "error")
    found.check(names)
    if of_labels is not None:
        of_labels.check([label], kind="label")
    return matrix, labels


def _with_means(matrix: npt.NDArray[Any], names: Sequence[str]) -> npt.NDArray[Any]:
    filled = np.array(matrix, order="F")
    for column, name in enumerate(names):
        values = filled[:, column]
        is_missing = np.isnan(values)
        if is_missing.all():
            raise DataError(f'column "{name}" has no value to take the mean of')
        if is_missing.any():
            values[is_missing] = values[~is_missing].mean(dtype=np.float64)
    return filled

"""One-hot encoding: a column of 0 and 1 for each category of a column."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import DataError, ParameterError, TypeMismatchError, UnsupportedError
from sharkpy.ml.features.feature_blocks import check_policy
from sharkpy.ml.features.training_data import column_names
from sharkpy.ml.models import column_categories as of
from sharkpy.ml.models.estimator import Estimator, Rule, one_of
from sharkpy.ml.models.predictor import is_table
from sharkpy.ml.models.transformer_table import Named, column_named, input_table, replace_columns
from sharkpy.plan.expr import Call, ColumnRef, Expr, Literal
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.expressions.coercion import cast, comparable
from sharkpy.values.types import BOOLEAN, INT, STRING

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.ml.rdd.table_rdd import TableRDD

Array = npt.NDArray[Any]
_POLICIES = ("error", "drop")
_CATEGORIES = Rule(
    '"auto", or a list of the categories of each column',
    lambda value: value == "auto" if isinstance(value, str) else isinstance(value, (list, tuple)),
)
_UNKNOWN = 'column "{}" has a category unknown to OneHotEncoder: '
_ONE, _ZERO = Literal(1, INT), Literal(0, INT)


class OneHotEncoder(Estimator):
    """Encoder of categories: booleans, integers, floats, text, dates or timestamps; the new columns are dense.

    `categories` "auto" finds the categories in the data and sorts them. For a table they come from the statistics of
    its blocks, or from SELECT DISTINCT. `drop` "first" leaves out the first category of each column. `handle_unknown`
    "ignore" encodes NULL, and a category that `fit` has not seen, as zeros.

    Fitted: `categories_`, an array for each column. `get_feature_names_out` names the new columns: column and category
    joined by `_`, in lower case, with `_` for anything but letters and digits, and numbered if names are equal.
    """

    estimator_type = "transformer"
    parameter_rules: ClassVar[Mapping[str, Rule]] = {
        "categories": _CATEGORIES,
        "drop": one_of("first").or_none(),
        "handle_unknown": one_of("error", "ignore"),
    }

    def __init__(
        self,
        *,
        categories: str | Sequence[Sequence[Any]] = "auto",
        drop: str | None = None,
        handle_unknown: str = "error",
    ) -> None:
        self.categories = categories
        self.drop = drop
        self.handle_unknown = handle_unknown

    def fit(
        self,
        data: object,
        y: object = None,
        *,
        features: Sequence[str] | None = None,
        na: str = "error",
        session: EngineSession | None = None,
    ) -> Self:
        """Find the categories. `data`: a matrix, a data frame, a TableRDD or the name of a table; `features`: columns
        (default: all).

        `na`: "error", or "drop" for leaving out rows with a missing value. `y` is ignored.
        """
        del y
        self._check_parameters()
        check_policy(na, _POLICIES)
        if (table := input_table(data, session)) is not None:
            from sharkpy.ml.models.column_categories import table_categories

            found = table_categories(table, features, na)
        else:
            found = _array_categories(data, features, na)
        if not found:
            raise DataError("OneHotEncoder needs at least one column")
        for name, values in found.items():
            if not len(values):
                raise DataError(f'column "{name}" has no value')
        chosen = list(found.values()) if isinstance(self.categories, str) else self._given(found)
        self.n_features_in_ = len(found)
        self.feature_names_in_ = np.array(list(found), dtype=object)
        self.categories_ = chosen
        return self

    def _given(self, found: Mapping[str, Array]) -> list[Array]:
        if len(self.categories) != len(found):
            raise ParameterError(f"categories of {len(self.categories)} columns for {len(found)} columns")
        given = []
        for (name, values), some in zip(found.items(), self.categories, strict=True):
            categories, is_missing = of.typed_values(_objects(some), name)
            if is_missing.any() or len(of.distinct(categories)) < len(categories) or not len(categories):
                raise ParameterError(f'the categories of column "{name}" are none, or hold a value twice or NULL')
            unknown = of.codes_of(values, categories) < 0
            if unknown.any() and self.handle_unknown == "error":
                raise _unknown(name, values[unknown][0])
            given.append(categories)
        return given

    @overload
    def transform(self, X: TableRDD) -> TableRDD: ...
    @overload
    def transform(self, X: npt.ArrayLike) -> Array: ...
    def transform(self, X: npt.ArrayLike | TableRDD) -> Array | TableRDD:
        """Encode a matrix or a data frame as (rows, new columns) of float64, or a TableRDD by INT columns in the place
        of each column, within its query. An unknown category, or NULL, is an error or zeros, by `handle_unknown`.
        """
        self.check_fitted()
        if is_table(X):
            return X.changed(lambda plan: replace_columns(plan, self._encoded_columns(), "OneHotEncoder"))
        columns = self._columns(X)
        flags = [
            self._flags(name, values, categories)
            for (name, values), categories in zip(columns, self.categories_, strict=True)
        ]
        return np.concatenate(flags, axis=1)

    def _columns(self, X: object) -> list[tuple[str, Array]]:
        names = list(map(str, self.feature_names_in_))
        columns = of.given_columns(X, names if column_names(X) is not None else None)
        if len(columns) != len(names):
            raise DataError(
                f"the data has {len(columns)} columns; this OneHotEncoder was fitted with {self._features()}"
            )
        return [(name, values) for name, (_, values) in zip(names, columns, strict=True)]

    def _flags(self, name: str, column: Array, categories: Array) -> Array:
        values, is_missing = of.typed_values(column, name)
        codes = np.where(is_missing, -1, of.codes_of(values, categories))
        if self.handle_unknown == "error" and (codes < 0).any():
            row = int(np.argmax(codes < 0))
            raise _unknown(name, None if is_missing[row] else values[row])
        flags: Array = (codes[:, np.newaxis] == np.arange(self._num_dropped, len(categories))).astype(np.float64)
        return flags

    @property
    def _num_dropped(self) -> int:
        return 0 if self.drop is None else 1

    def _encoded_columns(self) -> dict[str, Callable[[ColumnRef], list[Named]]]:
        return {
            str(name): partial(self._encoded, categories, names)
            for name, categories, names in zip(self.feature_names_in_, self.categories_, self._names(), strict=True)
        }

    def _encoded(self, categories: Array, names: Sequence[str], column: ColumnRef) -> list[Named]:
        places = range(len(categories))
        otherwise: tuple[Expr, ...] = (_ZERO,)
        if self.handle_unknown == "error":
            shown = Call("coalesce", (cast(column, STRING), Literal("NULL", STRING)), STRING)
            message = Literal(_UNKNOWN.format(column.name), STRING)
            is_known = _compared("in", column, [of.literal(categories, place) for place in places])
            known = Call("require", (is_known, Call("concat", (message, shown), STRING)), BOOLEAN)
            otherwise = (known, _ZERO, Literal(None, INT))
        return [
            (name, Call("case_when", (_compared("eq", column, [of.literal(categories, place)]), _ONE, *otherwise), INT))
            for name, place in zip(names, places[self._num_dropped :], strict=True)
        ]

    @overload
    def inverse_transform(self, X: TableRDD) -> TableRDD: ...
    @overload
    def inverse_transform(self, X: npt.ArrayLike) -> Array: ...
    def inverse_transform(self, X: npt.ArrayLike | TableRDD) -> Array | TableRDD:
        """Return categories (rows, columns), an array of objects unless all have one type. For a TableRDD return its
        rows with them in the place of the columns of 0 and 1. Only zeros mean the dropped category, else None or NULL.
        """
        self.check_fitted()
        if is_table(X):
            return X.changed(self._decoded_plan)
        matrix = np.asarray(X)
        widths = list(map(len, self._names()))
        if matrix.ndim != 2 or matrix.shape[1] != sum(widths):
            raise DataError(f"the data has the shape {matrix.shape}, not (rows, {sum(widths)})")
        parts = np.split(matrix, np.cumsum(widths)[:-1], axis=1)
        columns = [self._decoded(part, categories) for part, categories in zip(parts, self.categories_, strict=True)]
        dtypes = {column.dtype for column in columns}
        found = np.empty((len(matrix), len(columns)), dtypes.pop() if len(dtypes) == 1 else object)
        for place, column in enumerate(columns):
            found[:, place] = column
        return found

    def _decoded(self, flags: Array, categories: Array) -> Array:
        kept = categories[self._num_dropped :]
        is_none = ~flags.any(axis=1)
        places = flags.argmax(axis=1) + self._num_dropped if len(kept) else np.zeros(len(flags), np.int64)
        if self.drop is not None:
            found: Array = categories[np.where(is_none, 0, places)]
            return found
        values: Array = categories[places]
        if is_none.any():
            values = values.astype(object)
            values[is_none] = None
        return values

    def _decoded_plan(self, plan: LogicalPlan) -> LogicalPlan:
        changes: dict[str, Callable[[ColumnRef], list[Named]]] = {}
        for feature, categories, names in zip(self.feature_names_in_, self.categories_, self._names(), strict=True):
            if not names:
                raise UnsupportedError(f'the only category of column "{feature}" was dropped: no column stands for it')
            columns = [column_named(plan, name, "OneHotEncoder") for name in names]
            values = [of.literal(categories, place) for place in range(len(categories))]
            cases: list[Expr] = []
            for column, value in zip(columns, values[self._num_dropped :], strict=True):
                cases += [_compared("eq", column, [_ONE]), value]
            last = values[0] if self.drop is not None else Literal(None, values[0].dtype)
            decoded = Call("case_when", (*cases, last), values[0].dtype)
            changes |= dict.fromkeys(names, _nothing)
            changes[names[0]] = partial(_only, str(feature), decoded)
        return replace_columns(plan, changes, "OneHotEncoder")

    @overload
    def fit_transform(self, data: TableRDD, y: object = None, **options: Any) -> TableRDD: ...
    @overload
    def fit_transform(self, data: npt.ArrayLike, y: object = None, **options: Any) -> Array: ...
    def fit_transform(self, data: npt.ArrayLike | TableRDD, y: object = None, **options: Any) -> Array | TableRDD:
        return self.fit(data, y, **options).transform(data)

    def get_feature_names_out(self, input_features: object = None) -> Array:
        """Names of the new columns."""
        del input_features
        self.check_fitted()
        return np.array([name for names in self._names() for name in names], dtype=object)

    def _names(self) -> list[list[str]]:
        """Names of the new columns of each column."""
        taken: set[str] = set()
        return [
            [
                _free(f"{feature}_{of.text_of(categories, place)}", taken)
                for place in range(self._num_dropped, len(categories))
            ]
            for feature, categories in zip(self.feature_names_in_, self.categories_, strict=True)
        ]


def _array_categories(data: object, features: Sequence[str] | None, na: str) -> dict[str, Array]:
    from sharkpy.ml.models.column_categories import check_missing

    columns = of.given_columns(data, features)
    typed = [of.typed_values(values, name) for name, values in columns]
    is_dropped = np.any([is_missing for _, is_missing in typed], axis=0) if typed else np.zeros(0, np.bool_)
    found = {}
    for (name, _), (values, is_missing) in zip(columns, typed, strict=True):
        if na == "error":
            check_missing(name, int(is_missing.sum()))
        found[name] = of.distinct(values[~is_dropped])
    return found


def _free(name: str, taken: set[str]) -> str:
    safe = re.sub(r"\W", "_", name.lower())
    found, number = safe, 1
    while found in taken:
        number += 1
        found = f"{safe}_{number}"
    taken.add(found)
    return found


def _objects(values: Sequence[Any]) -> Array:
    array = np.empty(len(values), object)
    array[:] = list(values)
    return array


def _unknown(name: str, value: object) -> DataError:
    shown = "NULL" if value is None else str(value)
    return DataError(_UNKNOWN.format(name) + shown, hint='handle_unknown="ignore" makes zeros of it')


def _compared(function: str, column: ColumnRef, values: Sequence[Literal]) -> Expr:
    operands = comparable((column, *values))
    if operands is None:
        raise TypeMismatchError(f'column "{column.name}" is {column.dtype}; its categories are {values[0].dtype}')
    return Call(function, operands, BOOLEAN)


def _nothing(column: ColumnRef) -> list[Named]:
    del column
    return []


def _only(name: str, expr: Expr, column: ColumnRef) -> list[Named]:
    del column
    return [(name, expr)]

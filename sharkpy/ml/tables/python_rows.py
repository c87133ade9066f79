"""Rows that are Python objects, as Arrow batches: tuples, dicts, named rows, data classes, single values."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.base.errors import DataError
from sharkpy.base.records import dataclass
from sharkpy.ml.tables.declared_columns import DeclaredColumns, arrow_column_type, make_schema, renamed
from sharkpy.ml.tables.fit_columns import ARROW_FAULTS, Place, fit, misfit, places_from, places_of
from sharkpy.sources.arrow import Array, column_type
from sharkpy.values.python_values import arrow_value, is_pandas_null, row_names, row_values
from sharkpy.values.types import DataType, DecimalType, Field, Schema, arrow_schema, is_nested

BATCH_ROWS = 16_384
SINGLE = "value"
"""Name of the column of rows that are single values."""
_SAMPLED_DECIMAL = DecimalType(38, 18)
"""Type of decimals in a sample: later decimals may have more digits."""
_EXACT = ("TinyIntType", "SmallIntType", "IntType", "BigIntType", "DateType", "TimestampType")
"""Types to which pyarrow would truncate values: the values' own type is inferred first."""
_FAULTS = (*ARROW_FAULTS, OverflowError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class PythonRows:
    """RowReader of Python objects. Rows with names are read by name, other rows by position."""

    schema: Schema
    label: str

    def __call__(self, rows: Iterable[object], number: int) -> Iterator[pa.RecordBatch]:
        order: dict[Any, list[int] | None] = {}
        stream, start = iter(rows), 0
        while chunk := list(itertools.islice(stream, BATCH_ROWS)):
            place = places_from(start, self.label, number)
            lines = [self._line(row, order, place, index) for index, row in enumerate(chunk)]
            columns = [
                python_column([line[position] for line in lines], field, place)
                for position, field in enumerate(self.schema)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=arrow_schema(self.schema))
            start += len(chunk)

    def _line(self, row: Any, order: dict[Any, list[int] | None], place: Place, index: int) -> Sequence[Any]:
        """Return the values of the row in the order of the schema, with NULL for names that a mapping lacks."""
        if row is None and len(self.schema) != 1:
            raise DataError(f"a row is None ({place(index)})")
        if isinstance(row, Mapping):
            return self._of_mapping(row, order, place, index)
        names = row_names(row)
        values = row_values(row)
        if len(values) != len(self.schema):
            raise DataError(f"a row has {len(values)} values for {len(self.schema)} columns ({place(index)})")
        if names is None:
            return values
        if names not in order:
            places = places_of(names, self.schema, f"a row ({place(index)})")
            order[names] = None if places == sorted(places) else places
        found = order[names]
        return values if found is None else [values[one] for one in found]

    def _of_mapping(self, row: Mapping[Any, Any], order: dict[Any, Any], place: Place, index: int) -> Sequence[Any]:
        line: list[Any] = [None] * len(self.schema)
        for key, value in row.items():
            if key not in order:
                name = str(key).lower()
                if not self.schema.has(name):
                    places_of([name, *self.schema.names], self.schema, f"a row ({place(index)})")
                order[key] = self.schema.names.index(name)
            line[order[key]] = value
        return line


def python_column(values: Sequence[Any], field: Field, place: Place) -> Array:
    """Return the Arrow column of Python values. Raise DataError that names the first misfit."""
    try:
        return _column(values, field, place)
    except _FAULTS as error:
        if isinstance(error, DataError):
            raise
    known = [None if is_pandas_null(value) else value for value in values]
    for row, value in enumerate(known):
        try:
            _column([value], field, place)
        except _FAULTS:
            raise misfit(field, value, place(row)) from None
    # Each value fits by itself: only their own types differ.
    return pa.concat_arrays([_column([value], field, place) for value in known])


def _column(values: Sequence[Any], field: Field, place: Place) -> Array:
    dtype = field.dtype
    if is_nested(dtype):
        values = [arrow_value(value, dtype) for value in values]
    # pyarrow would truncate values of these types: their own type is inferred first.
    array = pa.array(values) if type(dtype).__name__ in _EXACT else pa.array(values, column_type(dtype))
    return fit(array, field, place)


def inferred_schema(rows: Sequence[Any], declared: DeclaredColumns | None, label: str, *, is_sample: bool) -> Schema:
    """Return the columns of rows, or of a sample of them. Raise DataError if the values of one are of different
    kinds.
    """
    named = [names for names in map(row_names, rows) if names is not None]
    if named:
        names: Sequence[str] = list(dict.fromkeys(itertools.chain.from_iterable(named)))
        lines: list[Any] = [dict(zip(row_names(row) or names, row_values(row), strict=False)) for row in rows]
        columns = [[line.get(name) for line in lines] for name in names]
    else:
        values = [row_values(row) for row in rows]
        width = len(values[0])
        if odd := next((row for row in values if len(row) != width), None):
            raise DataError(f"rows of {label} have {width} values, and others {len(odd)}")
        is_single = width == 1 and not isinstance(rows[0], (tuple, list, np.ndarray, np.void))
        names = [SINGLE] if is_single else [f"c{position}" for position in range(width)]
        columns = [list(column) for column in zip(*values, strict=True)]
    found = make_schema(
        (name, _inferred_type(name, column, is_sample=is_sample)) for name, column in zip(names, columns, strict=True)
    )
    return found if declared is None else renamed(found, declared.names, label)


def _inferred_type(name: str, values: Sequence[Any], *, is_sample: bool) -> DataType:
    plain = [_plain(value) for value in values]
    try:
        found = arrow_column_type(name, pa.array(plain).type)
    except _FAULTS as error:
        hint = "give the types: schema=…"
        raise DataError(f'column "{name}" has values of different kinds: {error}', hint=hint) from None
    return _SAMPLED_DECIMAL if is_sample and isinstance(found, DecimalType) else found


def _plain(value: Any) -> Any:
    """Return a value with named rows and data classes inside it as dicts, which pyarrow knows."""
    if is_pandas_null(value):
        return None
    if isinstance(value, Mapping) or row_names(value) is not None:
        return dict(zip(row_names(value) or (), map(_plain, row_values(value)), strict=True))
    return [_plain(one) for one in value] if isinstance(value, (list, tuple, set, frozenset)) else value

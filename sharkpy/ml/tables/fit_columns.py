"""Conversion of Arrow columns to a table's types: exactly the same values, or an error that names the first different
one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from sharkpy.base.errors import ColumnCountError, ColumnNotFoundError, DataError, UnsupportedError, did_you_mean
from sharkpy.ml.tables.declared_columns import DeclaredColumns, arrow_column_type, make_schema, renamed, stored_form
from sharkpy.sources.arrow import Array, column_type, pc
from sharkpy.sources.column_conversion import conform_column
from sharkpy.values.nested_arrow import cast_column, fields_by_name
from sharkpy.values.types import CharType, DataType, Field, Schema, VarcharType, arrow_schema, from_arrow

Place = Callable[[int], str]
"""Describes the place of a row by its number, for errors: `row 17 of partition 3 of an RDD`."""
AN_RDD = "an RDD"
ARROW_FAULTS = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError)
"""Arrow's errors for values that do not fit a type."""
_SHOWN = 60


def schema_of(arrow: pa.Schema, declared: DeclaredColumns | None, data: str) -> Schema:
    """Return the schema of a table of data with the schema `arrow`: the declared columns. Declarations without types
    apply by position.
    """
    if declared is not None and declared.schema is not None:
        return declared.schema
    found = make_schema((field.name, arrow_column_type(field.name, field.type)) for field in arrow)
    return found if declared is None else renamed(found, declared.names, data)


def places_of(names: Sequence[str], schema: Schema, data: str) -> list[int]:
    """Return the position in data with columns `names` of each column of `schema`. Errors name missing and surplus
    columns.
    """
    found = {name.lower(): place for place, name in enumerate(names)}
    if len(found) < len(names):
        make_schema((name, field.dtype) for name, field in zip(names, schema, strict=False))
        raise ColumnCountError(f"two columns of {data} have one name: case does not count in names", sqlstate="42701")
    for name in schema.names:
        if name not in found:
            raise ColumnNotFoundError(f'no column "{name}" in {data}', hint=did_you_mean(name, found) or _there(names))
    for name in found:
        if not schema.has(name):
            hint = did_you_mean(name, schema.names) or _there(schema.names)
            raise ColumnNotFoundError(f'the column "{name}" of {data} is not in the schema', hint=hint)
    return [found[name] for name in schema.names]


def places_from(start: int, label: str, part: int) -> Place:
    """Describe rows by number from `start` on, for rows of a partition of an RDD or of data of this process."""
    within = f" of partition {part} of {label}" if label == AN_RDD else ""
    return lambda row: f"row {start + row:,}{within}"


def check_count(count: int, schema: Schema, data: str) -> None:
    """Raise ColumnCountError if data without names has another number of columns than `schema`."""
    if count != len(schema):
        raise ColumnCountError(f"{data} has {count} columns, the schema has {len(schema)}")


def _there(names: Sequence[str]) -> str:
    return f"there are {', '.join(names)}"


def fit_batch(columns: Sequence[Array], schema: Schema, place: Place) -> pa.RecordBatch:
    """Fit columns into a batch of the Arrow types of `schema`. Raise DataError that names the column, value and place
    of a misfit.
    """
    fitted = [fit(column, field, place) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(fitted, schema=arrow_schema(schema))


def fit(column: Array, field: Field, place: Place) -> Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [_none(column.type)])
    column = _decoded(column)
    try:
        return _fitted(column, field.dtype)
    except ARROW_FAULTS:
        row = _first_misfit(column, field.dtype)
    raise misfit(field, column[row].as_py(), place(row))


def misfit(field: Field, value: object, place: str) -> DataError:
    shown = repr(value)
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
    return DataError(f'column "{field.name}" is {field.dtype} and cannot have {shown} ({place})')


def _none(arrow_type: pa.DataType) -> Array:
    return pa.array([], arrow_type)


def _decoded(column: Array) -> Array:
    """Return the plain values of a dictionary-encoded, run-length encoded or extension column."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    return pc.run_end_decode(column) if pa.types.is_run_end_encoded(column.type) else column


def _fitted(column: Array, dtype: DataType) -> Array:
    """Return a column with the same values in another type. Raise one of ARROW_FAULTS if that is impossible."""
    try:
        given = stored_form(from_arrow(column.type))
    except UnsupportedError as error:
        raise pa.ArrowInvalid(error.message) from None
    family, wanted = _family(given), _family(dtype)
    if column.null_count == len(column):
        return pa.nulls(len(column), column_type(dtype))
    if family != wanted and (family, wanted) not in _TIMES:
        raise pa.ArrowInvalid(f"{given} is no {dtype}")
    if isinstance(dtype, (VarcharType, CharType)) and pc.max(pc.utf8_length(column)).as_py() > dtype.length:
        raise pa.ArrowInvalid("too long")
    same = conform_column(pa.chunked_array([column]), given)
    plain: Any = same.chunk(0) if same.num_chunks == 1 else pa.concat_arrays(same.chunks)
    target = column_type(dtype)
    found = cast_column(fields_by_name(plain, target), target)
    if (family, wanted) == _TIMES[1] and not found.cast(plain.type).equals(plain):
        raise pa.ArrowInvalid("more than a day")
    return found


_TIMES = (("DateType", "TimestampType"), ("TimestampType", "DateType"))
"""Conversions of times: a date is its midnight."""
_FAMILIES = {
    **dict.fromkeys(("TinyIntType", "SmallIntType", "IntType", "BigIntType"), "number"),
    **dict.fromkeys(("FloatType", "DoubleType", "DecimalType"), "number"),
    **dict.fromkeys(("StringType", "VarcharType", "CharType"), "text"),
}


def _family(dtype: DataType) -> str:
    """Return the family of a type. Types of one family have values in common; values never change families."""
    name = type(dtype).__name__
    return _FAMILIES.get(name, name)


def _first_misfit(column: Array, dtype: DataType) -> int:
    """Return the index of the first row whose value does not fit, found by bisection."""
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            _fitted(column.slice(low, middle - low), dtype)
            low = middle
        except ARROW_FAULTS:
            high = middle
    return low

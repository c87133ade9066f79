"""CSV fields as values of the columns' types, converted as in Spark: a text that does not fit the type is NULL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from sharkpy.sources.arrow import Array, column_type, pc
from sharkpy.sources.csv_files.options import CsvOptions, names_zone, parse_in_pattern
from sharkpy.sources.lenient_conversion import in_zone, lenient
from sharkpy.sources.text_fields import with_other_time_formats
from sharkpy.sources.text_format import TextFormat
from sharkpy.values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    TIMESTAMP,
    TINYINT,
    BinaryType,
    DataType,
    DecimalType,
    is_string,
)

INTEGER = r"^[+-]?[0-9]+$"
REAL = r"^[\x00-\x20]*[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)[\x00-\x20]*$"
_DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
BOOLEANS = r"^([tT][rR][uU][eE]|[fF][aA][lL][sS][eE])$"


def _null_text() -> pa.Scalar[Any]:
    return pa.scalar(None, pa.string())


def values_of(text: Array, dtype: DataType, options: CsvOptions) -> Array:
    """Values of texts; NULL if the text is NULL or does not fit the type."""
    if isinstance(dtype, BinaryType):
        return pc.cast(text, pa.binary())
    if is_string(dtype):
        return lenient(text, dtype)
    if isinstance(dtype, DecimalType):
        return lenient(_keep(pc.replace_substring(text, ",", ""), _DECIMAL), dtype)
    return _CONVERTERS[dtype](text, dtype, options)


def _keep(text: Array, pattern: str) -> Array:
    return pc.if_else(pc.match_substring_regex(text, pattern), text, _null_text())


def _integers(text: Array, dtype: DataType, _: CsvOptions) -> Array:
    return lenient(_keep(text, INTEGER), dtype)


def _booleans(text: Array, dtype: DataType, _: CsvOptions) -> Array:
    return lenient(_keep(text, BOOLEANS), dtype)


def _reals(text: Array, dtype: DataType, options: CsvOptions) -> Array:
    named = ((options.nan, "NaN"), (options.negative_inf, "-Infinity"), (options.positive_inf, "Infinity"))
    known = _keep(text, REAL)
    for written, name in named:
        known = pc.if_else(pc.equal(text, written), pa.scalar(name), known)
    return lenient(known, dtype)


def _dates(text: Array, dtype: DataType, options: CsvOptions) -> Array:
    if options.date_format is not None:
        return _by_pattern(text, dtype, options.date_format, None)
    return lenient(_whole_dates(text), dtype)


def _whole_dates(text: Array) -> Array:
    """Dates, with 01 for missing months and days."""
    trimmed = pc.ascii_trim(text, characters="".join(map(chr, range(33))))
    return pc.replace_substring_regex(
        pc.replace_substring_regex(trimmed, r"^([0-9]{4})$", r"\1-01-01"), r"^([0-9]{4}-[0-9]{1,2})$", r"\1-01"
    )


def _timestamps(text: Array, dtype: DataType, options: CsvOptions) -> Array:
    if options.timestamp_format is not None:
        zone = options.time_zone if names_zone(options.timestamp_format) else None
        return _by_pattern(text, dtype, options.timestamp_format, zone)
    whole = _whole_dates(text)
    plain = lenient(whole, dtype)
    return with_other_time_formats(whole, plain, TextFormat(time_zone=options.time_zone))


def _by_pattern(text: Array, dtype: DataType, pattern: str, zone: str | None) -> Array:
    """Times in a Java pattern; times with a zone are converted to `zone`."""
    distinct = text.dictionary_encode()
    times: Array = pa.array(
        [parse_in_pattern(value, pattern) for value in distinct.dictionary.to_pylist()], column_type(TIMESTAMP)
    )
    found = times if zone is None else in_zone(times, zone)
    return pc.cast(found, column_type(dtype), safe=False).take(distinct.indices)


_CONVERTERS: dict[DataType, Callable[[Array, DataType, CsvOptions], Array]] = {
    BOOLEAN: _booleans,
    TINYINT: _integers,
    SMALLINT: _integers,
    INT: _integers,
    BIGINT: _integers,
    FLOAT: _reals,
    DOUBLE: _reals,
    DATE: _dates,
    TIMESTAMP: _timestamps,
}


def is_stored(dtype: DataType) -> bool:
    """True for types that CSV can store: all except nested ones."""
    return dtype in _CONVERTERS or is_string(dtype) or isinstance(dtype, (DecimalType, BinaryType))

"""Hive's lenient conversion of texts to values: an unreadable value becomes NULL, never an error.

It applies to fields of text files, to the names of Hive partitions, and to times with a zone (2024-01-02T03:04:05Z).
"""

from __future__ import annotations

import base64
import binascii
import datetime
import functools
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import TYPE_CHECKING

import pyarrow as pa

from sharkpy.base.time_zone import UTC, time_zone
from sharkpy.catalog.hive_partition import partition_values
from sharkpy.sources.arrow import Array, column_type, pc
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
    CharType,
    DataType,
    DecimalType,
    Schema,
    StringType,
    VarcharType,
    is_string,
)

if TYPE_CHECKING:
    import duckdb

_INTEGER = r"^[+-]?[0-9]+(\.[0-9]*)?$"
_REAL = r"^[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)$"
_DATE = r"^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([ T].*)?$"
_TIMESTAMP = r"^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([ T][0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}(\.[0-9]*)?)?)?$"
_idle: list[duckdb.DuckDBPyConnection] = []
"""Unused connections, shared by all threads. Thread-local ones would break a forked process, which would close the
connections of threads that it does not have.
"""


def lenient(text: Array, dtype: DataType) -> Array:
    """Convert `text` (strings) to `dtype`: all at once if every field is well formed, otherwise field by field."""
    if converter := _TEXT_CONVERTERS.get(type(dtype)):
        return converter(text, dtype)
    trimmed = pc.utf8_trim_whitespace(text)
    trimmed = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)
    if dtype in (TINYINT, SMALLINT, INT, BIGINT):
        return _integers(trimmed, dtype)
    if isinstance(dtype, DecimalType):
        return _decimals(trimmed, dtype)
    return _CONVERTERS[dtype](trimmed, dtype)


def _matching(text: Array, pattern: str) -> Array:
    """`text` with NULL for values that do not match."""
    return pc.if_else(pc.match_substring_regex(text, pattern), text, pa.scalar(None, text.type))


def _strict(text: Array, pattern: str, arrow_type: pa.DataType) -> Array | None:
    if not pc.all(pc.match_substring_regex(text, pattern), min_count=0).as_py():
        return None
    try:
        return pc.cast(text, arrow_type)
    except pa.ArrowInvalid:
        return None


def _integers(text: Array, dtype: DataType) -> Array:
    arrow_type = column_type(dtype)
    if (quick := _strict(text, r"^-?[0-9]{1,18}$", arrow_type)) is not None:
        return quick
    digits = pc.replace_substring_regex(_matching(text, _INTEGER), r"^\+|\..*$", "")
    digits = pc.replace_substring_regex(digits, r"^(-?)0+([0-9])", r"\1\2")
    wide = pc.cast(_matching(digits, r"^-?[0-9]{1,19}$"), pa.decimal128(20, 0))
    bound = 1 << (arrow_type.bit_width - 1)
    low, high = pa.scalar(Decimal(-bound), wide.type), pa.scalar(Decimal(bound - 1), wide.type)
    fits = pc.and_(pc.greater_equal(wide, low), pc.less_equal(wide, high))
    return pc.cast(pc.if_else(fits, wide, pa.scalar(None, wide.type)), arrow_type)


def _reals(text: Array, dtype: DataType) -> Array:
    known = pc.replace_substring_regex(_matching(text, _REAL), r"[fFdD]$", "")
    return pc.cast(known, column_type(dtype))


def _decimals(text: Array, dtype: DecimalType) -> Array:
    whole = dtype.precision - dtype.scale
    pattern = rf"^-?[0-9]{{1,{max(whole, 1)}}}(\.[0-9]{{1,{max(dtype.scale, 1)}}})?$"
    if (quick := _strict(text, pattern, column_type(dtype))) is not None:
        return quick
    distinct = text.dictionary_encode()
    values = pa.array([decimal_of(value, dtype) for value in distinct.dictionary.to_pylist()], column_type(dtype))
    return values.take(distinct.indices)


def decimal_of(text: str | None, dtype: DecimalType) -> Decimal | None:
    """Decimal rounded HALF_UP to the type's scale; None if the text is not a number or has too many digits."""
    if text is None or not text.isascii() or "_" in text:
        return None
    with localcontext() as context:
        context.prec = 400
        try:
            value = Decimal(text)
            if not value.is_finite() or value.adjusted() >= dtype.precision - dtype.scale + 1:
                return None
            rounded = value.quantize(Decimal(1).scaleb(-dtype.scale), rounding=ROUND_HALF_UP)
        except InvalidOperation:
            return None
    return rounded if len(rounded.as_tuple().digits) <= dtype.precision else None


def _booleans(text: Array, _: DataType) -> Array:
    lowered = pc.utf8_lower(text)
    is_true, is_false = pc.equal(lowered, "true"), pc.equal(lowered, "false")
    return pc.if_else(pc.or_(is_true, is_false), is_true, pa.scalar(None, pa.bool_()))


def _dates(text: Array, _: DataType) -> Array:
    if (quick := _strict(text, r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", column_type(DATE))) is not None:
        return quick
    return _duckdb_cast(pc.replace_substring_regex(_matching(text, _DATE), r"[ T].*$", ""), "DATE", DATE)


def _timestamps(text: Array, _: DataType) -> Array:
    exact = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?)?$"
    if (quick := _strict(text, exact, column_type(TIMESTAMP))) is not None:
        return quick
    known = pc.replace_substring_regex(_matching(text, _TIMESTAMP), r"(\.[0-9]{6})[0-9]+$", r"\1")
    known = pc.replace_substring_regex(known, r"([ T][0-9]{1,2}:[0-9]{1,2})$", r"\1:00")
    return _duckdb_cast(pc.replace_substring_regex(known, r"\.$", ""), "TIMESTAMP", TIMESTAMP)


def _duckdb_cast(text: Array, sql_type: str, dtype: DataType) -> Array:
    import duckdb

    connection = _idle.pop() if _idle else duckdb.connect(config={"threads": 1})
    connection.register("fields", pa.table({"f": text}))
    cast = connection.sql(f"SELECT try_cast(f AS {sql_type}) AS f FROM fields").to_arrow_table()
    connection.unregister("fields")
    _idle.append(connection)
    return pa.concat_arrays(cast.column(0).chunks or [pa.nulls(0, column_type(dtype))]).cast(column_type(dtype))


def fitted_texts(text: Array, dtype: DataType) -> Array:
    """Texts converted to a text type, cut to its length. Trailing blanks are not part of a CHAR."""
    if isinstance(dtype, CharType):
        return pc.utf8_rtrim(pc.utf8_slice_codeunits(text, 0, dtype.length), characters=" ")
    return pc.utf8_slice_codeunits(text, 0, dtype.length) if isinstance(dtype, VarcharType) else text


def _binaries(text: Array, _: DataType) -> Array:
    """Bytes of base64 texts, as Hive stores BINARY in text files; other texts are taken as bytes."""

    def decode(value: str | None) -> bytes | None:
        if value is None:
            return None
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            return value.encode()

    return pa.array([decode(value) for value in text.to_pylist()], pa.binary())


_CONVERTERS: dict[DataType, Callable[[Array, DataType], Array]] = {
    BOOLEAN: _booleans,
    FLOAT: _reals,
    DOUBLE: _reals,
    DATE: _dates,
    TIMESTAMP: _timestamps,
}

_TEXT_CONVERTERS: dict[type[DataType], Callable[[Array, DataType], Array]] = {
    StringType: fitted_texts,
    VarcharType: fitted_texts,
    CharType: fitted_texts,
    BinaryType: _binaries,
}


def value_array(texts: Sequence[str | None], dtype: DataType) -> Array:
    """Values of texts in folder names, as in Hive: NULL if a text is not a value of the type."""
    text = pa.array(texts, pa.string())
    if isinstance(dtype, CharType):
        return fitted_texts(text, dtype)
    if is_string(dtype):
        return text
    return lenient(text, dtype).cast(column_type(dtype))


@functools.lru_cache(maxsize=10_000)
def single_value(text: str | None, dtype: DataType) -> Array:
    """`value_array` of one text. Cached, since thousands of Hive partitions share few values of a column."""
    return value_array([text], dtype)


def typed_values(names: Sequence[str], schema: Schema) -> list[tuple[object, ...]]:
    """Values of the partition columns `schema` for the name of each Hive partition."""
    texts = [partition_values(name) for name in names]
    columns = [value_array([text.get(f.name) for text in texts], f.dtype).to_pylist() for f in schema]
    return list(zip(*columns, strict=True))


_CLOCK = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}[ T][0-9]{1,2}:[0-9]{1,2}(?::[0-9]{1,2}(?:\.[0-9]*)?)?"
_ZONE = r"Z|UTC|GMT|UT|(?:UTC|GMT|UT)?[+-][0-9]{1,2}(?::?[0-9]{2})?|[A-Za-z]+/[A-Za-z_/+-]+"
_ZONED = rf"^(?P<clock>{_CLOCK}) ?(?P<zone>{_ZONE})$"
_FIRST, _LAST = datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)


def zoned_times(text: Array, zone: str) -> Array:
    """TIMESTAMPs in `zone` from texts with a zone; NULL for all other texts."""
    parts = pc.extract_regex(text, _ZONED)
    if parts.null_count == len(parts):
        return pa.nulls(len(text), column_type(TIMESTAMP))
    clocks = lenient(pc.struct_field(parts, "clock"), TIMESTAMP)
    return in_zone(_in_utc(clocks, pc.struct_field(parts, "zone").dictionary_encode()), zone)


def _in_utc(clocks: Array, zones: Array) -> Array:
    """Times in UTC from local times in `zones`, a dictionary of zone names."""
    known = [None if name is None else time_zone(name) for name in zones.dictionary.to_pylist()]
    offsets = [None if zone is None else zone.utcoffset(None) for zone in known]
    if all(zone is None or offset is not None for zone, offset in zip(known, offsets, strict=True)):
        moved = pc.subtract(clocks, pa.array(offsets, pa.duration("us")).take(zones.indices))
        is_time = pc.and_(pc.greater_equal(moved, _bound(_FIRST)), pc.less_equal(moved, _bound(_LAST)))
        return pc.if_else(is_time, moved, _bound(None))
    pairs = zip(clocks.to_pylist(), zones.indices.to_pylist(), strict=True)
    moments = [None if place is None else _in_other_zone(clock, known[place], datetime.UTC) for clock, place in pairs]
    return pa.array(moments, column_type(TIMESTAMP))


def in_zone(times: Array, zone: str) -> Array:
    """Times in UTC converted to local times in `zone`."""
    if zone == UTC:
        return times
    target = time_zone(zone)
    return pa.array([_in_other_zone(time, datetime.UTC, target) for time in times.to_pylist()], column_type(TIMESTAMP))


def _in_other_zone(
    clock: datetime.datetime | None, source: datetime.tzinfo | None, target: datetime.tzinfo | None
) -> datetime.datetime | None:
    if clock is None or source is None or target is None:
        return None
    try:
        return clock.replace(tzinfo=source).astimezone(target).replace(tzinfo=None)
    except OverflowError:
        return None


def _bound(time: datetime.datetime | None) -> Array:
    return pa.scalar(time, column_type(TIMESTAMP))

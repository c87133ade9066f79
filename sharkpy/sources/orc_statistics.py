"""Statistics of the stripes of an ORC file, in the form of block statistics.

They are Protocol Buffers messages after the last stripe, with the field numbers of orc_proto.proto in the ORC
specification (v1).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation

import pyarrow as pa

from sharkpy.columnar.column_statistics import BlockStatistics, ColumnStatistics
from sharkpy.columnar.domain import MICROS_PER_DAY, Domain, DomainValue, domain_of, to_domain
from sharkpy.columnar.statistics_table import StatisticsTable
from sharkpy.sources.file_errors import format_error
from sharkpy.sources.orc_reader import OrcReader
from sharkpy.sources.orc_stripe import FIRST_GREGORIAN_DAY
from sharkpy.sources.orc_tail import STRING as STRING_KIND
from sharkpy.sources.orc_tail import Fields, fields_of, messages
from sharkpy.sources.source import Split
from sharkpy.values.types import (
    DATE,
    STRING,
    TIMESTAMP,
    CharType,
    DataType,
    DecimalType,
    Schema,
    VarcharType,
    to_arrow,
)

_KEPT = 1024
"""Most splits in the cache of statistics."""
_NUM_VALUES, _INTEGERS, _STRINGS, _DECIMALS, _DATES, _TIMES = 1, 2, 4, 6, 7, 9
"""Fields of the statistics of a column."""
_LOW, _HIGH = 1, 2
_LOW_CUT, _HIGH_CUT = 4, 5
"""Fields for long strings, which are cut."""
_LOW_UTC, _HIGH_UTC = 3, 4
_MILLIS_PER_DAY = 86_400_000
Bounds = tuple[DomainValue, DomainValue]


@functools.lru_cache(maxsize=_KEPT)
def stripe_statistics(split: Split, schema: Schema) -> tuple[Schema, StatisticsTable]:
    """Statistics of a split's stripes, and the columns of `schema` that have them.

    These are flat columns whose stored values have the table's type. Files whose columns are matched by position have
    none.
    """
    file = OrcReader(split)
    try:
        return _statistics(file, range(split.start, split.start + split.length), schema)
    except (ValueError, IndexError) as error:
        raise format_error(split.path, "ORC", error) from None


def _statistics(file: OrcReader, stripes: Sequence[int], schema: Schema) -> tuple[Schema, StatisticsTable]:
    rows, statistics = file.stripe_rows, file.stripe_statistics
    places = {name.lower(): name for name in reversed(file.names)} if len(statistics) == len(rows) else {}
    found: dict[str, list[ColumnStatistics]] = {}
    for field in schema:
        place = places.get(field.name, "_col")
        if place.startswith("_col") or not _has_same_values(file, place, field.dtype):
            continue
        column, is_hybrid = file.column_id(place), file.is_hybrid
        columns = [_column(statistics[one], column, rows[one], field.dtype, is_hybrid) for one in stripes]
        told = [one for one in columns if one is not None]
        if len(told) == len(columns):
            found[field.name] = told
    known = schema.select([field.name for field in schema if field.name in found])
    blocks = [
        BlockStatistics(rows[stripe], tuple((name, found[name][number]) for name in known.names))
        for number, stripe in enumerate(stripes)
    ]
    return known, StatisticsTable.of(known, blocks)


def _has_same_values(file: OrcReader, name: str, dtype: DataType) -> bool:
    stored = file.schema.field(name).type
    if isinstance(dtype, CharType | VarcharType):
        return False
    if dtype == STRING:
        # Not VARCHAR and CHAR: blanks in their statistics may differ from the values.
        return file.kind(name) == STRING_KIND
    if dtype == TIMESTAMP:
        return pa.types.is_timestamp(stored) and stored.tz is None
    wanted = to_arrow(dtype)
    if pa.types.is_integer(stored) and pa.types.is_integer(wanted):
        return bool(stored.bit_width <= wanted.bit_width)
    return bool(stored == wanted) and domain_of(dtype) is not Domain.NONE


def _column(
    stripe: Sequence[bytes], column: int, rows: int, dtype: DataType, is_hybrid: bool
) -> ColumnStatistics | None:
    """Statistics of a column in a stripe; None if they do not contain the number of values."""
    fields = fields_of(stripe[column]) if column < len(stripe) else ()
    count = _number(fields, _NUM_VALUES)
    if count is None or count > rows:
        return None
    is_float = domain_of(dtype) is Domain.FLOAT
    found = ColumnStatistics(dtype, rows, rows - count, exact=False, has_nan=is_float)
    bounds = _bounds(fields, dtype, is_hybrid)
    return found if bounds is None else replace(found, low=bounds[0], high=bounds[1])


def _bounds(fields: Fields, dtype: DataType, is_hybrid: bool) -> Bounds | None:
    """Bounds of all values in the column's domain; None if there are no reliable ones."""
    if domain_of(dtype) is Domain.FLOAT:
        # Writers leave NaN out of the bounds without a mark, so that the bounds cannot exclude anything.
        return None
    if dtype == STRING:
        return _of_strings(fields_of(_part(fields, _STRINGS)))
    if isinstance(dtype, DecimalType):
        return _of_decimals(fields_of(_part(fields, _DECIMALS)), dtype)
    if dtype == TIMESTAMP:
        return _of_times(fields_of(_part(fields, _TIMES)), is_hybrid)
    low, high = _signed(fields_of(_part(fields, _DATES if dtype == DATE else _INTEGERS)), _LOW, _HIGH)
    if low is None or high is None or (dtype == DATE and is_hybrid and low < FIRST_GREGORIAN_DAY):
        return None
    return low, high


def _of_strings(fields: Fields) -> Bounds | None:
    low = next(iter((*messages(fields, _LOW), *messages(fields, _LOW_CUT))), None)
    high = next(iter((*messages(fields, _HIGH), *messages(fields, _HIGH_CUT))), None)
    return None if low is None or high is None else (low, high)


def _of_decimals(fields: Fields, dtype: DecimalType) -> Bounds | None:
    try:
        texts = [Decimal(text.decode("ascii")) for number in (_LOW, _HIGH) for text in messages(fields, number)]
    except (InvalidOperation, UnicodeDecodeError):
        return None
    found = [value for text in texts if isinstance(value := to_domain(text, dtype), int) and abs(value) < 1 << 63]
    return (found[0], found[1]) if len(texts) == len(found) == 2 else None


def _of_times(fields: Fields, is_hybrid: bool) -> Bounds | None:
    """Bounds from milliseconds of the writer's local time, widened by a day on either side for any time zone."""
    low, high = _signed(fields, _LOW_UTC, _HIGH_UTC)
    if low is None or high is None or (is_hybrid and low < (FIRST_GREGORIAN_DAY + 1) * _MILLIS_PER_DAY):
        return None
    return low * 1000 - MICROS_PER_DAY, (high + 1) * 1000 + MICROS_PER_DAY


def _signed(fields: Fields, *numbers: int) -> list[int | None]:
    """Signed values of zigzag-encoded fields."""
    found = [_number(fields, number) for number in numbers]
    return [None if one is None else (one >> 1) ^ -(one & 1) for one in found]


def _number(fields: Fields, number: int) -> int | None:
    return next((value for found, value in fields if found == number and isinstance(value, int)), None)


def _part(fields: Fields, number: int) -> bytes:
    return next(iter(messages(fields, number)), b"")

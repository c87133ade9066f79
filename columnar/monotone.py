"""Functions that preserve the order of their argument, applied to a column's bounds.

`apply` is correct only for non-decreasing functions: then f(low) and f(high) bound f(x). If rounding may differ between
executors, the bounds are widened and `exact` is false, so that single values are not mapped.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sharkpy.base.records import dataclass
from sharkpy.columnar.bounds import Array, Bounds, ByteBounds, Mask, NumberBounds, word_arrays
from sharkpy.columnar.domain import MICROS_PER_DAY, Domain, domain_of
from sharkpy.values import types as t
from sharkpy.values.type_parser import parse_type

_INTEGER_BITS: dict[t.DataType, int] = {t.TINYINT: 8, t.SMALLINT: 16, t.INT: 32, t.BIGINT: 64}
_UNITS = {"year": "Y", "month": "M", "day": "D", "hour": "h", "minute": "m", "second": "s", "mm": "M", "yyyy": "Y"}
# Years 1 to 9999 in days: beyond them, calendars and Python's values end.
_DAYS = (-719_162, 2_932_896)
_MAX_EXACT = 1 << 53


@dataclass(frozen=True, slots=True)
class Monotone:
    """A function on domain values. `lower` and `upper` map bounds, and return a mask of the values that they
    could map.
    """

    dtype: t.DataType
    lower: Callable[[Array], tuple[Array, Mask]]
    upper: Callable[[Array], tuple[Array, Mask]]
    exact: bool = True
    characters: int | None = None

    def apply(self, bounds: Bounds) -> Bounds:
        if isinstance(bounds, ByteBounds):
            return bounds if self.characters is None else bounds.cut(self.characters)
        low, low_ok = self.lower(bounds.low)
        high, high_ok = self.upper(bounds.high)
        unknown = bounds.unknown | ~low_ok | ~high_ok
        if domain_of(self.dtype) is Domain.BYTES:
            whole = np.ones(len(unknown), np.bool_)
            return ByteBounds(word_arrays(low.tolist()), word_arrays(high.tolist()), whole, unknown)
        return NumberBounds(low, high, unknown)


def monotone(function_name: str, source: t.DataType, argument: object) -> Monotone | None:
    """Return the function over a column of type `source`, or None if it is not known to preserve the order."""
    build = FUNCTIONS.get(function_name.lower())
    return build(source, argument) if build else None


def _both(dtype: t.DataType, function: Callable[[Array], tuple[Array, Mask]]) -> Monotone:
    return Monotone(dtype, function, function)


def _always(values: Array) -> Mask:
    return np.ones(len(values), np.bool_)


def _identity(dtype: t.DataType) -> Monotone:
    return _both(dtype, lambda values: (values, _always(values)))


def _days(source: t.DataType, values: Array) -> tuple[Array, Mask]:
    days = values if source == t.DATE else values // MICROS_PER_DAY
    inside = (days >= _DAYS[0]) & (days <= _DAYS[1])
    return np.where(inside, days, 0), inside


def _by_day(days: Array, function: Callable[[Array], Array]) -> Array:
    """Apply a function of dates, once per day of their range if that is less work."""
    if len(days) == 0:
        return np.asarray(function(days.astype("M8[D]")))
    first, last = int(days.min()), int(days.max())
    if last - first >= len(days):
        return np.asarray(function(days.astype("M8[D]")))
    table: Array = function(np.arange(first, last + 1).astype("M8[D]"))
    places: Array = days - first
    return np.asarray(table[places])


def _year(source: t.DataType, _: object) -> Monotone | None:
    if source not in (t.DATE, t.TIMESTAMP):
        return None

    def years(values: Array) -> tuple[Array, Mask]:
        days, inside = _days(source, values)
        return _by_day(days, lambda dates: dates.astype("M8[Y]").astype(np.int64) + 1970), inside

    return _both(t.INT, years)


def _to_date(source: t.DataType, _: object) -> Monotone | None:
    if source not in (t.DATE, t.TIMESTAMP):
        return None
    return _both(t.DATE, lambda values: _days(source, values))


def _date_trunc(source: t.DataType, argument: object) -> Monotone | None:
    unit = _UNITS.get(str(argument or "month").lower())
    if source not in (t.DATE, t.TIMESTAMP) or unit is None:
        return None

    def truncate(values: Array) -> tuple[Array, Mask]:
        days, inside = _days(source, values)
        if source == t.TIMESTAMP and unit in "hms":
            kept = np.where(inside, values, 0).astype("M8[us]")
            return kept.astype(f"M8[{unit}]").astype("M8[us]").astype(np.int64), inside
        starts = _by_day(days, lambda dates: dates.astype(f"M8[{unit}]").astype("M8[D]").astype(np.int64))
        return (starts if source == t.DATE else starts * MICROS_PER_DAY), inside

    return _both(source, truncate)


def _substr(source: t.DataType, argument: object) -> Monotone | None:
    if not t.is_string(source) or not isinstance(argument, int) or argument < 0:
        return None
    return Monotone(t.STRING, _unused, _unused, characters=argument)


def _unused(values: Array) -> tuple[Array, Mask]:
    return values, np.zeros(len(values), np.bool_)


def _cast(source: t.DataType, argument: object) -> Monotone | None:
    target = parse_type(argument) if isinstance(argument, str) else argument
    match source, target:
        case _ if source == target and domain_of(source) is not Domain.NONE:
            return _identity(source)
        case t.DateType(), t.TimestampType():
            return _both(t.TIMESTAMP, lambda days: _times(*_days(t.DATE, days), MICROS_PER_DAY))
        case t.TimestampType(), t.DateType():
            return _to_date(source, None)
        case t.DateType(), t.StringType():
            return _both(t.STRING, _date_text)
        case ((t.StringType() | t.VarcharType()), t.StringType()):
            return Monotone(t.STRING, _unused, _unused)
        case ((t.StringType() | t.VarcharType()), t.VarcharType(length)):
            return Monotone(target, _unused, _unused, characters=length)
    if isinstance(target, t.DataType) and t.is_numeric(source) and t.is_numeric(target):
        return _numeric_cast(source, target)
    return None


def _numeric_cast(source: t.DataType, target: t.DataType) -> Monotone | None:
    if domain_of(source) is Domain.FLOAT:
        if target == t.DOUBLE:
            return _identity(t.DOUBLE)
        return _float_to_integer(target) if target in _INTEGER_BITS else None
    if target == t.DOUBLE:
        scale = getattr(source, "scale", 0)
        return Monotone(t.DOUBLE, _to_double(scale, -np.inf), _to_double(scale, np.inf), exact=False)
    if domain_of(target) is Domain.FLOAT:
        return None
    return _rescale(source, target)


def _to_double(scale: int, toward: float) -> Callable[[Array], tuple[Array, Mask]]:
    def convert(values: Array) -> tuple[Array, Mask]:
        floats = values.astype(np.float64) / 10.0**scale
        if scale == 0:
            floats = np.where(np.abs(floats) < _MAX_EXACT, floats, np.nextafter(floats, toward))
            return floats, _always(values)
        return np.nextafter(np.nextafter(floats, toward), toward), _always(values)

    return convert


def _float_to_integer(target: t.DataType) -> Monotone:
    limit = float(1 << (_INTEGER_BITS[target] - 1)) - (1 if target != t.BIGINT else 1024)

    def convert(rounded: Callable[[Array], Array]) -> Callable[[Array], tuple[Array, Mask]]:
        def apply(values: Array) -> tuple[Array, Mask]:
            inside = np.abs(values) < limit
            return rounded(np.where(inside, values, 0.0)).astype(np.int64), inside

        return apply

    return Monotone(target, convert(np.floor), convert(np.ceil), exact=False)


def _rescale(source: t.DataType, target: t.DataType) -> Monotone:
    """Conversion between integers and decimals by their unscaled values."""
    digits = getattr(target, "scale", 0) - getattr(source, "scale", 0)
    bits = _INTEGER_BITS.get(target, 64)

    def fits(values: Array, inside: Mask) -> tuple[Array, Mask]:
        if bits == 64:
            return values, inside
        return values, inside & (values >= -(1 << (bits - 1))) & (values < 1 << (bits - 1))

    if digits >= 0:
        return _both(target, lambda values: fits(*_times(values, _always(values), 10**digits)))
    divisor = 10**-digits
    if divisor >= 1 << 63:
        return Monotone(target, _unused, _unused, exact=False)
    return Monotone(
        target,
        lambda values: fits(values // divisor, _always(values)),
        lambda values: fits(values // divisor + 1, _always(values)),
        exact=False,
    )


def _times(values: Array, inside: Mask, factor: int) -> tuple[Array, Mask]:
    limit = ((1 << 63) - 1) // factor
    inside = inside & (values <= limit) & (values >= -limit)
    return (np.where(inside, values, 0) * factor if limit else np.zeros(len(values), np.int64)), inside


def _date_text(values: Array) -> tuple[Array, Mask]:
    days, inside = _days(t.DATE, values)
    return _by_day(days, lambda dates: np.datetime_as_string(dates).astype("S10")), inside


FUNCTIONS: dict[str, Callable[[t.DataType, object], Monotone | None]] = {
    "year": _year,
    "to_date": _to_date,
    "date_trunc": _date_trunc,
    "month_trunc": lambda source, _: _date_trunc(source, "month"),
    "cast": _cast,
    "substr": _substr,
}

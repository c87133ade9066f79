"""Texts of times with a zone, such as 2024-01-02T03:04:05Z, converted to another zone."""

from __future__ import annotations

import datetime

import pyarrow as pa

from sharkpy.base.time_zone import UTC, time_zone
from sharkpy.sources.arrow import Array, column_type, pc
from sharkpy.sources.lenient import lenient
from sharkpy.values.types import TIMESTAMP

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
    return shown_in(_in_utc(clocks, pc.struct_field(parts, "zone").dictionary_encode()), zone)


def _in_utc(clocks: Array, zones: Array) -> Array:
    """Times in UTC from local times in `zones`, a dictionary of zone names."""
    known = [None if name is None else time_zone(name) for name in zones.dictionary.to_pylist()]
    offsets = [None if zone is None else zone.utcoffset(None) for zone in known]
    if all(zone is None or offset is not None for zone, offset in zip(known, offsets, strict=True)):
        moved = pc.subtract(clocks, pa.array(offsets, pa.duration("us")).take(zones.indices))
        is_time = pc.and_(pc.greater_equal(moved, _bound(_FIRST)), pc.less_equal(moved, _bound(_LAST)))
        return pc.if_else(is_time, moved, _bound(None))
    pairs = zip(clocks.to_pylist(), zones.indices.to_pylist(), strict=True)
    moments = [None if place is None else _moved(clock, known[place], datetime.UTC) for clock, place in pairs]
    return pa.array(moments, column_type(TIMESTAMP))


def shown_in(times: Array, zone: str) -> Array:
    """Times in UTC converted to local times in `zone`."""
    if zone == UTC:
        return times
    target = time_zone(zone)
    return pa.array([_moved(time, datetime.UTC, target) for time in times.to_pylist()], column_type(TIMESTAMP))


def _moved(
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

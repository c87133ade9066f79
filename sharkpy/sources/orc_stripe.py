"""Stripes of ORC files with timestamps that do not fit into Arrow's reader, which uses 64 bits of nanoseconds.

ORC stores a timestamp as two streams: seconds since 2015, and nanoseconds. A stripe is read twice, each time as a
separate file in memory with a rewritten tail. Once timestamps are declared as integers, which returns the seconds. Once
the seconds are replaced by zeros, which returns the nanoseconds. Days before 1582-10-15 may be Julian (Java's old
calendar), and are converted.
"""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.orc

from sharkpy.sources import orc_tail
from sharkpy.sources.arrow import Array, parts_of, pc, with_parts
from sharkpy.sources.orc_tail import Fields, OrcTail, OrcType, fields_of, message_of, messages, number_of

_TIMES = (orc_tail.TIMESTAMP, orc_tail.INSTANT)
_DAY = 86_400
EPOCH_2015 = 1_420_070_400
"""2015-01-01 in UTC, in seconds since 1970: the start of ORC's seconds."""
FIRST_OF_1900 = -2_208_988_800
"""1900-01-01 in UTC. Java's time zones have one offset for all times before it."""
_FIRST_OF_2037 = 2_114_380_800
_LAST_DAY = 253_402_214_400
"""9999-12-31 in UTC."""
_QUARTER = 900
_MOST_SECONDS = 2**63 // 10**6
DATA, SECONDARY, LAST_OF_DATA = 1, 5, 5
"""Kinds of streams; higher kinds are indexes."""
VERSION_2 = 2
"""Number of the second version of the integer encoding."""
_ZEROS = {
    False: (b"\x7f\x00\x00", 130),
    True: (b"\xc1\xff\x00\x00", 512),
}
"""A run of zeros and its length, by whether the encoding is the second version."""


class ExactStripe:
    """Stripe of an open file, with its columns in the order of the file.

    ValueError or IndexError from any method for a file that is damaged or encrypted.
    """

    def __init__(self, file: BinaryIO, tail: OrcTail, stripe: int) -> None:
        if tail.is_encrypted:
            raise ValueError("the file is encrypted")
        self._tail = tail
        self._types = tail.types
        place = fields_of(messages(tail.footer, orc_tail.STRIPES)[stripe])
        self._start, index, data, footer, self.num_rows = (number_of(place, number) for number in (1, 2, 3, 4, 5))
        file.seek(self._start)
        self._bytes = file.read(index + data)
        self.footer = fields_of(tail.plain(file.read(footer)))

    @property
    def zone(self) -> str:
        """Time zone of the writer, whose local times the timestamps are."""
        return next((text.decode() for text in messages(self.footer, 3)), "") or "UTC"

    def read(self, columns: Sequence[str]) -> pa.RecordBatch:
        """Read columns of the file, timestamps as microseconds."""
        seconds, nanos = self._halves(columns)
        merged = [
            self._merged(self._column(name), seconds.column(name), nanos.column(name))
            if name in nanos.schema.names
            else seconds.column(name)
            for name in columns
        ]
        return pa.RecordBatch.from_arrays(merged, names=list(columns))

    def halves(self) -> dict[int, tuple[Days, Days]]:
        """Seconds since 2015 and nanoseconds of each column of timestamps at any depth, by its id, without NULLs."""
        seconds, nanos = self._halves([name for name in self._types[0].names if self._has_times(self._column(name))])
        found: dict[int, tuple[Days, Days]] = {}
        for name in nanos.schema.names:
            first = self._leaves(self._column(name), seconds.column(name))
            second = dict(self._leaves(self._column(name), nanos.column(name)))
            for one, leaf in first:
                values = second[one].drop_null().cast(pa.int64()).to_numpy() - EPOCH_2015 * 10**9
                found[one] = leaf.drop_null().to_numpy(), values
        return found

    def streams(self) -> Iterator[tuple[int, int, bytes]]:
        """Kind, column and bytes of each stream that is not an index."""
        place = 0
        for stream in messages(self.footer, 1):
            kind, column, length = (number_of(fields_of(stream), number) for number in (1, 2, 3))
            if kind <= LAST_OF_DATA:
                yield kind, column, self._bytes[place : place + length]
            place += length

    def encodings(self) -> list[int]:
        return [number_of(fields_of(one), 1) for one in messages(self.footer, 2)]

    def _halves(self, columns: Sequence[str]) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """Columns with seconds instead of timestamps; and the columns with timestamps, as nanoseconds from 2015."""
        first = self._as_file(columns, _as_integers(self._tail), {})
        seconds = first.read_stripe(0, columns=list(columns))
        timed = [name for name in columns if self._has_times(self._column(name))]
        leaves = (leaf for name in timed for leaf in self._leaves(self._column(name), seconds.column(name)))
        lengths = {one: len(leaf) for one, leaf in leaves}
        return seconds, self._as_file(timed, self._tail, lengths).read_stripe(0, columns=timed)

    def _column(self, name: str) -> int:
        root = self._types[0]
        return root.children[root.names.index(name)]

    def _has_times(self, one: int) -> bool:
        return self._types[one].kind in _TIMES or any(self._has_times(child) for child in self._types[one].children)

    def _as_file(self, names: Iterable[str], tail: OrcTail, zeros: Mapping[int, int]) -> pyarrow.orc.ORCFile:
        """File with only this stripe and some columns.

        `zeros`: number of values of a column whose seconds are replaced by 0 in UTC.
        """
        ids = ids_of(self._types, names)
        encodings = self.encodings()
        streams = [stream for stream in self.streams() if stream[1] in ids]
        for place, (kind, column, _) in enumerate(streams):
            if kind == DATA and column in zeros:
                run, size = _ZEROS[encodings[column] == VERSION_2]
                streams[place] = kind, column, tail.stored(run * -(-zeros[column] // size))
        footer = footer_of(streams, self.footer, "GMT" if zeros else self.zone)
        content = b"".join(data for _, _, data in streams)
        return pyarrow.orc.ORCFile(pa.BufferReader(file_of_stripe(tail, content, footer, self.num_rows)))

    def _leaves(self, one: int, array: Array) -> Iterator[tuple[int, Array]]:
        """Arrays of timestamps, with their column ids."""
        found = self._types[one]
        if found.kind in _TIMES:
            yield one, array
        for child, part in zip(found.children, parts_of(array), strict=True):
            yield from self._leaves(child, part)

    def _merged(self, one: int, seconds: Array, nanos: Array) -> Array:
        found = self._types[one]
        if found.kind in _TIMES:
            return self._times(found.kind, seconds, nanos)
        if not self._has_times(one):
            return seconds
        pairs = zip(found.children, parts_of(seconds), parts_of(nanos), strict=True)
        return with_parts(seconds, [self._merged(child, first, second) for child, first, second in pairs])

    def _times(self, kind: int, seconds: Array, nanos: Array) -> Array:
        zone = "UTC" if kind == orc_tail.INSTANT else self.zone
        instants = pc.fill_null(seconds, 0).to_numpy(zero_copy_only=False) + _base(zone)
        fraction = pc.fill_null(nanos.cast(pa.int64()), 0).to_numpy(zero_copy_only=False) - EPOCH_2015 * 10**9
        # Java's writer rounds the seconds towards zero, unless the fraction is less than a millisecond. Arrow's writer
        # makes the fraction negative instead.
        instants -= (instants < 0) & (fraction > 999_999)
        clock = _wall_clock(instants, zone)
        if self._tail.is_hybrid:
            clock += gregorian_shift(clock // _DAY) * _DAY
        if len(clock) and max(abs(int(clock.min())), abs(int(clock.max()))) >= _MOST_SECONDS:
            raise ValueError("a timestamp is beyond 64 bits of microseconds")
        micros = pa.array(clock * 10**6 + fraction // 1000, pa.timestamp("us"))
        return pc.if_else(pc.is_valid(seconds), micros, None)


def ids_of(types: Sequence[OrcType], names: Iterable[str]) -> set[int]:
    """Ids of columns of a file and of their parts, and the id of the root."""
    root, found = types[0], {0}
    waiting = [root.children[root.names.index(name)] for name in names]
    while waiting:
        found.add(one := waiting.pop())
        waiting += types[one].children
    return found


def _as_integers(tail: OrcTail) -> OrcTail:
    def changed(body: bytes) -> bytes:
        return message_of([(1, orc_tail.LONG) if field == (1, kind) else field for field in fields_of(body)])

    footer = []
    for number, value in tail.footer:
        kind = number_of(fields_of(value), 1) if number == 4 and isinstance(value, bytes) else 0
        footer.append((number, changed(value) if kind in _TIMES and isinstance(value, bytes) else value))
    return replace(tail, footer=tuple(footer))


def footer_of(streams: Iterable[tuple[int, int, bytes]], old: Fields, zone: str) -> bytes:
    """Footer of a stripe with other streams than the stripe that has the `old` footer."""
    placed = [(1, message_of(((1, kind), (2, column), (3, len(data))))) for kind, column, data in streams]
    return message_of([*placed, *(field for field in old if field[0] == 2), (3, zone.encode())])


def file_of_stripe(tail: OrcTail, content: bytes, stripe_footer: bytes, num_rows: int) -> bytes:
    """ORC file with one stripe, without indexes and statistics, with the types of `tail`."""
    magic, end = b"ORC", tail.stored(stripe_footer)
    stripe = message_of(((1, len(magic)), (2, 0), (3, len(content)), (4, len(end)), (5, num_rows)))
    kept = [field for field in tail.footer if field[0] not in (orc_tail.STRIPES, 7)]
    made = replace(tail, footer=(*kept, (orc_tail.STRIPES, stripe)))
    postscript = tuple(field for field in tail.postscript if field[0] != 5)
    return magic + content + end + replace(made, postscript=postscript).encoded()


def _base(zone: str) -> int:
    """Seconds in UTC of 2015-01-01, local time of a time zone."""
    return int(datetime.datetime(2015, 1, 1, tzinfo=_zone(zone)).timestamp())


def _zone(name: str) -> zoneinfo.ZoneInfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        raise ValueError(f'the time zone "{name}" of the file is not known') from None


def _wall_clock(instants: Days, zone: str) -> Days:
    """Local times, in seconds, for times in UTC."""
    if is_utc(zone):
        return instants
    winter = datetime.datetime(2037, 1, 1, tzinfo=_zone(zone))
    offset, saved = winter.utcoffset(), winter.dst()
    standard = int(((offset or datetime.timedelta()) - (saved or datetime.timedelta())).total_seconds())
    known = np.clip(instants, FIRST_OF_1900, _FIRST_OF_2037)
    local = pc.local_timestamp(pa.array(known, pa.timestamp("s", zone))).cast(pa.int64()).to_numpy()
    clock = instants + np.where(instants < FIRST_OF_1900, standard, local - known)
    late = instants >= _FIRST_OF_2037
    clock[late] = instants[late] + _offsets(instants[late], zone)
    return clock


def _offsets(instants: Days, zone: str) -> Days:
    """Offsets by the zone's rules for future years, which Arrow lacks. They change at quarters of an hour."""
    quarters, places = np.unique(np.minimum(instants, _LAST_DAY) // _QUARTER, return_inverse=True)
    moments = (datetime.datetime.fromtimestamp(quarter * _QUARTER, _zone(zone)) for quarter in quarters.tolist())
    found = np.array([(moment.utcoffset() or datetime.timedelta()).total_seconds() for moment in moments], np.int64)
    return found[places]


def is_utc(zone: str) -> bool:
    return zone in ("UTC", "GMT", "Etc/UTC", "Etc/GMT", "Z")


Days = np.ndarray[Any, np.dtype[np.int64]]

FIRST_GREGORIAN_DAY = -141_427
"""1582-10-15, in days since 1970-01-01."""
_SHIFTS = (
    (-719_164, 2),
    (-682_945, 1),
    (-646_420, 0),
    (-609_895, -1),
    (-536_845, -2),
    (-500_320, -3),
    (-463_795, -4),
    (-390_745, -5),
    (-354_220, -6),
    (-317_695, -7),
    (-244_645, -8),
    (-208_120, -9),
    (-171_595, -10),
    (FIRST_GREGORIAN_DAY, 0),
)
"""First day of each span, 1 March of a year that is a leap year in only one calendar; difference of the calendars in
days.
"""
_FIRST_DAYS = np.array([first for first, _ in _SHIFTS])
_DAYS = np.array([days for _, days in _SHIFTS])


def gregorian_shift(days: Days) -> Days:
    """Days to add to days of the hybrid calendar to get the same year, month and day in the Gregorian one.

    29 February of a year that has none in that calendar becomes 1 March.
    """
    span = np.searchsorted(_FIRST_DAYS, days, side="right") - 1
    return _DAYS[np.maximum(span, 0)]

"""Timestamps and dates in ORC: all of Hive's range, time zones of writers, and the calendar of Java."""

from __future__ import annotations

import datetime
import zoneinfo
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.orc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sharkpy.base.errors import SourceError
from sharkpy.sources.layout import list_data_files
from sharkpy.sources.orc import OrcSource
from sharkpy.sources.orc_reader import OrcReader
from sharkpy.sources.orc_stripe import ExactStripe, file_of_stripe, gregorian_shift
from sharkpy.sources.orc_tail import STRIPES, fields_of, message_of, messages, number_of, read_tail
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema
from tests.examples import examples

TIME = datetime.datetime
MICROS = pa.timestamp("us")
CODECS = ("uncompressed", "zlib", "snappy", "lz4", "zstd")
SINCE_1900 = st.datetimes(TIME(1901, 1, 1), TIME(2200, 1, 1)).filter(lambda one: one.year not in (1969, 1970))
ANY_ROW = st.fixed_dictionaries({"t": st.none() | st.datetimes(), "d": st.none() | st.dates()})


def reader_of(path: Path) -> OrcReader:
    (file,) = list_data_files(str(path))
    return OrcReader(file)


def write(path: Path, values: pa.Array, codec: str = "zlib") -> None:
    rows = pa.table({"n": pa.array(range(len(values))), "v": values})
    pa.orc.write_table(rows, str(path), compression=codec)


def exact(path: Path, columns: tuple[str, ...] = ("v",)) -> list[list[object]]:
    with path.open("rb") as file:
        batch = ExactStripe(file, read_tail(file), 0).read(columns)
    return [column.to_pylist() for column in batch.columns]


@pytest.mark.variants(3)
@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_and_depth(codec: str, tmp_path: Path) -> None:
    moments = [TIME.min, TIME.max, TIME(1969, 12, 31, 23, 59, 59, 500_000), TIME(2020, 1, 1, 0, 0, 0, 1), None]
    shapes = {
        "plain": (moments, MICROS),
        "list": ([None, *([one, None] for one in moments), []], pa.list_(MICROS)),
        "map": ([[("k", one)] for one in moments], pa.map_(pa.string(), MICROS)),
        "struct": ([None, *({"t": one, "s": "x"} for one in moments)], pa.struct([("t", MICROS), ("s", pa.string())])),
        "deep": ([[{"t": one}] for one in moments], pa.list_(pa.struct([("t", MICROS)]))),
    }
    for values, dtype in shapes.values():
        many = values * 500
        write(tmp_path / "f.orc", pa.array(many, dtype), codec)
        assert exact(tmp_path / "f.orc", ("n", "v")) == [list(range(len(many))), pa.array(many, dtype).to_pylist()]


def in_zone(path: Path, zone: str) -> None:
    """Say that a file of one stripe was written in a time zone."""
    data = path.read_bytes()
    with path.open("rb") as file:
        tail = read_tail(file)
    stripe = fields_of(messages(tail.footer, STRIPES)[0])
    start, index, length, footer, rows = (number_of(stripe, number) for number in (1, 2, 3, 4, 5))
    end = start + index + length
    fields = [field for field in fields_of(tail.plain(data[end : end + footer])) if field[0] != 3]
    content, skipped = data[start:end], 0
    streams = [field for field in fields if field[0] == 1]
    for field in streams:
        kind, size = (number_of(fields_of(field[1] if isinstance(field[1], bytes) else b""), n) for n in (1, 3))
        if kind > 5:
            fields.remove(field)
            skipped += size
    made = message_of([*fields, (3, zone.encode())])
    path.write_bytes(file_of_stripe(tail, content[skipped:], made, rows))


@pytest.mark.variants(3)
@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Asia/Kolkata", "Europe/Paris", "Australia/Lord_Howe"])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(values=st.lists(st.none() | SINCE_1900, min_size=1, max_size=20))
def test_equal_to_arrows_reader_where_that_can_read(
    tmp_path: Path, zone: str, values: list[datetime.datetime | None]
) -> None:
    path = tmp_path / "f.orc"
    write(path, pa.array(values, MICROS))
    in_zone(path, zone)
    read = pa.orc.ORCFile(str(path)).read()["v"].cast(MICROS).to_pylist()
    assert exact(path) == [read]
    if zone == "UTC":
        assert read == values


def test_clocks_before_1900_are_javas(tmp_path: Path) -> None:
    """java.util.TimeZone has the standard offset for them, not the mean time of the place."""
    path = tmp_path / "f.orc"
    write(path, pa.array([TIME(1850, 6, 1, 8), TIME(1, 1, 1, 8)], MICROS))
    in_zone(path, "America/Los_Angeles")
    assert zoneinfo.ZoneInfo("America/Los_Angeles").utcoffset(TIME(1850, 6, 1)) != datetime.timedelta(hours=-8)
    # The seconds since 2015 in UTC count from 2015 in Los Angeles now, which is 8 hours later.
    assert reader_of(path).read(0, ["v"]).column("v").to_pylist() == [TIME(1850, 6, 1, 8), TIME(1, 1, 1, 8)]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=st.lists(st.none() | ANY_ROW, max_size=9))
def test_a_file_written_here_is_gregorian(tmp_path: Path, rows: list[dict[str, object] | None]) -> None:
    schema = Schema((Field("s", parse_type("struct<t:timestamp,d:date>")),))
    dtype = pa.struct([("t", MICROS), ("d", pa.date32())])
    path = tmp_path / "f.orc"
    path.unlink(missing_ok=True)
    OrcSource().write([pa.RecordBatch.from_arrays([pa.array(rows, dtype)], names=["s"])], schema, (), str(path))
    with path.open("rb") as file:
        tail = read_tail(file)
    assert number_of(tail.footer, 11) == 2
    assert not tail.is_hybrid
    if rows:
        assert reader_of(path).read(0, ["s"]).column("s").to_pylist() == rows


EARLY = st.datetimes(TIME(1700, 1, 1), TIME(1969, 12, 31, 23, 59, 58))
LAST_SECOND = TIME(1969, 12, 31, 23, 59, 59, 500_000)


@pytest.mark.variants(3)
@pytest.mark.parametrize("codec", ["zlib", "none", "snappy"])
@settings(max_examples=examples(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(values=st.lists(st.none() | EARLY | st.datetimes(TIME(1970, 1, 1), TIME(2200, 1, 1)), min_size=1, max_size=9))
def test_fractions_before_1970_are_positive(tmp_path: Path, codec: str, values: list[datetime.datetime | None]) -> None:
    """Java's readers fail at negative ones, which Arrow's writer makes."""
    schema = Schema((Field("n", parse_type("int")), Field("l", parse_type("array<timestamp>"))))
    lists = [[one, None, one] for one in values] * 300
    columns = [pa.array(range(len(lists)), pa.int32()), pa.array(lists, pa.list_(MICROS))]
    path = tmp_path / "f.orc"
    path.unlink(missing_ok=True)
    batch = pa.RecordBatch.from_arrays(columns, names=["n", "l"])
    OrcSource().write([batch, batch], schema, (("orc.compress", codec),), str(path))
    read = pa.orc.ORCFile(str(path)).read()
    assert read["l"].cast(pa.list_(MICROS)).to_pylist() == lists * 2
    assert read["n"].to_pylist() == [*range(len(lists))] * 2
    with path.open("rb") as file:
        for seconds, nanos in ExactStripe(file, read_tail(file), 0).halves().values():
            assert len(seconds) == 2 * sum(one is not None for row in lists for one in row)
            assert not (nanos < 0).any()
    assert exact(path, ("l",)) == [lists * 2]
    assert [path.name] == [one.name for one in tmp_path.iterdir()]


def test_the_last_second_before_1970(tmp_path: Path) -> None:
    """Java has no form for it: its fraction stays negative, and only its reader fails."""
    schema = Schema((Field("v", parse_type("timestamp")),))
    values = [LAST_SECOND, TIME(1960, 1, 1, 0, 0, 0, 5), TIME(1960, 1, 1, 0, 0, 0, 500_000), None]
    batch = pa.RecordBatch.from_arrays([pa.array(values, MICROS)], names=["v"])
    OrcSource().write([batch], schema, (), str(tmp_path / "f.orc"))
    assert exact(tmp_path / "f.orc") == [values]
    assert reader_of(tmp_path / "f.orc").read(0, ["v"]).column("v").cast(MICROS).to_pylist() == values


def julian_day(days: int) -> tuple[int, int, int]:
    """Year, month and day of the Julian calendar (E. G. Richards, 2013)."""
    century = days + 2_440_588 + 32_082
    year = (4 * century + 3) // 1461
    rest = century - 1461 * year // 4
    month = (5 * rest + 2) // 153
    return year - 4800 + month // 10, month + 3 - 12 * (month // 10), rest - (153 * month + 2) // 5 + 1


def test_days_of_the_hybrid_calendar() -> None:
    days = np.arange(-719_164, -141_427)
    shifted = days + gregorian_shift(days)
    for day, moved in zip(days.tolist(), shifted.tolist(), strict=True):
        year, month, of_month = julian_day(day)
        if (month, of_month) == (2, 29) and year % 100 == 0 and year % 400:
            month, of_month = 3, 1
        assert datetime.date(year, month, of_month).toordinal() - 719_163 == moved
    later = np.arange(-141_427, 20_000)
    assert not gregorian_shift(later).any()


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "f.orc"
    write(path, pa.array([TIME.max] * 9, MICROS))
    data = path.read_bytes()
    with path.open("rb") as file:
        stripe = fields_of(messages(read_tail(file).footer, STRIPES)[0])
    start, length = number_of(stripe, 1) + number_of(stripe, 2), number_of(stripe, 3)
    path.write_bytes(data[:start] + b"\xff" * length + data[start + length :])
    with pytest.raises(SourceError, match=r'f\.orc" is not a readable ORC file'):
        reader_of(path).read(0, ["v"])


def test_an_unknown_zone_is_named(tmp_path: Path) -> None:
    path = tmp_path / "f.orc"
    write(path, pa.array([TIME.max], MICROS))
    in_zone(path, "Nowhere/Else")
    with pytest.raises(SourceError, match=r'f\.orc" is not a readable ORC file'):
        reader_of(path).read(0, ["v"])

"""Type objects and constructors of PEP 249. The type code of a column is its `sharkpy.values.types.DataType`."""

from __future__ import annotations

import datetime
import time

from sharkpy.values import types
from sharkpy.values.types import DataType


class TypeObject:
    """Type object that equals each type code of its kinds: `cursor.description[0][1] == NUMBER`."""

    def __init__(self, name: str, *kinds: type[DataType]) -> None:
        self.name = name
        self.kinds = kinds

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DataType):
            return isinstance(other, self.kinds)
        return self is other

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


STRING = TypeObject(
    "STRING", types.StringType, types.VarcharType, types.CharType, types.NullType, types.YearMonthIntervalType
)
"""Texts, and intervals of months, whose values are texts."""
BINARY = TypeObject("BINARY", types.BinaryType)
NUMBER = TypeObject(
    "NUMBER",
    *(types.BooleanType, types.TinyIntType, types.SmallIntType, types.IntType, types.BigIntType),
    *(types.FloatType, types.DoubleType, types.DecimalType),
)
DATETIME = TypeObject("DATETIME", types.DateType, types.TimestampType, types.DayTimeIntervalType)
"""Dates, timestamps, and intervals of days and seconds, which are timedelta."""
NESTED = TypeObject("NESTED", types.ArrayType, types.MapType, types.StructType)
"""Lists and dicts; not in PEP 249."""
ROWID = TypeObject("ROWID")
"""Row ids, which no column has."""

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:  # noqa: N802 - the name is PEP 249's
    return datetime.date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:  # noqa: N802
    return datetime.time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:  # noqa: N802
    return datetime.datetime(*time.localtime(ticks)[:6])

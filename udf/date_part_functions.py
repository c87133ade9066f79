"""Parts of dates, times and intervals, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sharkpy.udf.casts import lower_cast
from sharkpy.udf.function import ScalarFunction, TypeRule
from sharkpy.udf.lower import render
from sharkpy.udf.signatures import Types, exact, first_of, returns, takes
from sharkpy.values.types import (
    DATE,
    INT,
    INTERVAL_DAY_TIME,
    INTERVAL_YEAR_MONTH,
    STRING,
    TIMESTAMP,
    DataType,
    is_string,
)


def _date_or_timestamp(types: Types) -> Types | None:
    """One time, uncast; strings are read as DATE."""
    if len(types) != 1:
        return None
    return types if types[0] in (DATE, TIMESTAMP) else takes(DATE)(types)


def _part(
    name: str,
    arguments: TypeRule,
    lowering: str,
    of_interval: tuple[DataType, str] | None,
    *,
    usage: str,
    doc: str,
    example: str,
    answer: str,
    aliases: tuple[str, ...] = (),
) -> ScalarFunction:
    """A part of a time, and of intervals of one kind by the SQL in `of_interval`."""
    kind, interval_part = of_interval or (None, "")

    def lower(args: Sequence[str], types: Types, _result: DataType) -> str:
        if types[0] == kind:
            return f"CAST({interval_part.format(*args)} AS INTEGER)"
        return f"CAST({lowering.format(*args)} AS INTEGER)"

    rule = arguments if kind is None else first_of(exact(kind), arguments)
    return ScalarFunction(
        name,
        rule,
        returns(INT),
        lower,
        usage=usage,
        doc=doc,
        example=example,
        answer=answer,
        aliases=aliases,
    )


def _date_part(
    name: str,
    lowering: str,
    *,
    of_interval: tuple[DataType, str] | None = None,
    doc: str,
    answer: str,
    aliases: tuple[str, ...] = (),
) -> ScalarFunction:
    return _part(
        name,
        _date_or_timestamp,
        lowering,
        of_interval,
        usage=f"{name}(date)",
        doc=doc,
        example=f"{name}('2013-07-30')",
        answer=answer,
        aliases=aliases,
    )


def _time_part(name: str, microseconds: int, modulus: int, *, doc: str, answer: str) -> ScalarFunction:
    """A part of the time of day, of a timestamp or a string. The string may hold only the time of day."""
    of_interval = (INTERVAL_DAY_TIME, f"({{0}} // {microseconds} % {modulus})")
    time = _part(
        name,
        takes(TIMESTAMP),
        f"{name}({{0}})",
        of_interval,
        usage=f"{name}(time)",
        doc=doc,
        example=f"{name}('2013-07-30 12:58:59')",
        answer=answer,
    )

    def lower(args: Sequence[str], types: Types, result: DataType) -> str:
        if not is_string(types[0]):
            return render(time.lowering, args, types, result)
        moment = f"coalesce({lower_cast(args[0], STRING, TIMESTAMP)}, {_time_of_day(args[0])})"
        return f"CAST({name}({moment}) AS INTEGER)"

    return replace(time, arguments=first_of(exact(STRING), time.arguments), lowering=lower)


def _time_of_day(text: str) -> str:
    shape = r"^\s*(\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d*)?)\s*$"
    return f"TRY_CAST('1970-01-01 ' || regexp_extract({text}, '{shape}', 1) AS TIMESTAMP)"


DATE_PART_FUNCTIONS = (
    _date_part(
        "year",
        "year({0})",
        of_interval=(INTERVAL_YEAR_MONTH, "({0} // 12)"),
        doc="the year",
        answer="2013",
    ),
    _date_part("quarter", "quarter({0})", doc="1 to 4", answer="3"),
    _date_part(
        "month",
        "month({0})",
        of_interval=(INTERVAL_YEAR_MONTH, "({0} % 12)"),
        doc="1 to 12",
        answer="7",
    ),
    _date_part(
        "day",
        "day({0})",
        of_interval=(INTERVAL_DAY_TIME, "({0} // 86400000000)"),
        doc="day of the month",
        answer="30",
        aliases=("dayofmonth",),
    ),
    _date_part(
        "dayofweek",
        "dayofweek({0}) + 1",
        doc="1 (Sunday) to 7",
        answer="3",
    ),
    _date_part("dayofyear", "dayofyear({0})", doc="1 to 366", answer="211"),
    _date_part(
        "weekday",
        "isodow({0}) - 1",
        doc="0 (Monday) to 6",
        answer="1",
    ),
    _date_part("weekofyear", "weekofyear({0})", doc="ISO week", answer="31"),
    _time_part("hour", 3_600_000_000, 24, doc="0 to 23", answer="12"),
    _time_part("minute", 60_000_000, 60, doc="0 to 59", answer="58"),
    _time_part("second", 1_000_000, 60, doc="0 to 59", answer="59"),
)

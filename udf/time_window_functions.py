"""Windows of time: the window of a time, all overlapping windows of a time, and the time of a window."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types
from sharkpy.values.types import BIGINT, TIMESTAMP, DataType, StructType

WINDOW = "time_window"
"""The window of a time."""
WINDOWS_OF = "windows_of"
"""The windows of a time, if they overlap."""
WINDOWS_BETWEEN = "windows_between"
"""The windows of a time that start within bounds, at least."""
TIME_OF_ROW, ROW_OF_TIME = "time_of_row", "row_of_time"
"""Numbers of rows as microseconds since 1970, without a time zone, and back."""
WINDOW_TYPE = StructType(("start", "end"), (TIMESTAMP, TIMESTAMP))


def _begin(time: str, slide: str, offset: str) -> str:
    """Return the microseconds of the last multiple of `slide` after `offset` that is not later than the time."""
    behind = f"((epoch_us({time}) - {offset}) % {slide} + {slide}) % {slide}"
    return f"(epoch_us({time}) - {behind})"


def _window(args: Sequence[str], _types: Types, _result: DataType) -> str:
    time, size, offset = args
    begin = _begin(time, size, offset)
    made = f'struct_pack(start := make_timestamp({begin}), "end" := make_timestamp({begin} + {size}))'
    return f"CASE WHEN {time} IS NOT NULL THEN {made} END"


def _windows_of(args: Sequence[str], _types: Types) -> Sequence[str]:
    time, size, slide, offset = args
    last = _begin(time, slide, offset)
    return _windows(last, size, slide, f"range({_number(time, last, size, slide)})")


def _windows_between(args: Sequence[str], _types: Types) -> Sequence[str]:
    """Return the requested windows, and perhaps one more on each side."""
    time, size, slide, offset, first, latest = args
    last = _begin(time, slide, offset)
    number = _number(time, last, size, slide)
    begin = f"CASE WHEN {latest} IS NULL THEN 0 ELSE greatest(0, ({last} - epoch_us({latest})) // {slide}) END"
    end = (
        f"CASE WHEN {first} IS NULL THEN {number} ELSE least({number}, ({last} - epoch_us({first})) // {slide} + 1) END"
    )
    return _windows(last, size, slide, f"range({begin}, {end})")


def _number(time: str, last: str, size: str, slide: str) -> str:
    """Return the number of windows of a time. The last one begins at `last`."""
    return f"({last} - epoch_us({time}) + {size} - 1) // {slide} + 1"


def _windows(last: str, size: str, slide: str, numbers: str) -> Sequence[str]:
    begin = f"{last} - number * {slide}"
    made = f'struct_pack(start := make_timestamp({begin}), "end" := make_timestamp({begin} + {size}))'
    return (f"list_transform({numbers}, lambda number: {made})",)


TIME_WINDOW_FUNCTIONS = (
    Page(
        "time_window(time, size, offset)",
        "the window of time that a time is in; lengths are in microseconds",
        "time_window('2024-05-01 10:00:07', 10000000, 0) -> "
        '{"start":"2024-05-01 10:00:00","end":"2024-05-01 10:00:10"}',
        name=WINDOW,
    ).scalar((TIMESTAMP, BIGINT, BIGINT), WINDOW_TYPE, _window, is_listed=False),
    Page(
        "window_time(window)",
        "the last moment of a window of time",
        "window_time(time_window('2024-05-01 10:00:07', 10000000, 0)) -> 2024-05-01 10:00:09.999999",
    ).scalar((WINDOW_TYPE,), TIMESTAMP, "make_timestamp(epoch_us(struct_extract({0}, 'end')) - 1)"),
    Page(
        "time_of_row(number)",
        "the time by which a row of that number is in a window of rows",
        "time_of_row(7) -> 1970-01-01 00:00:00.000007",
        name=TIME_OF_ROW,
    ).scalar((BIGINT,), TIMESTAMP, "make_timestamp({0})", is_listed=False),
    Page(
        "row_of_time(time)",
        "the number of the row whose time it is in a window of rows",
        "row_of_time(time_of_row(7)) -> 7",
        name=ROW_OF_TIME,
    ).scalar((TIMESTAMP,), BIGINT, "epoch_us({0})", is_listed=False),
)
TIME_WINDOW_TABLES = (
    Page(
        "windows_of(time, size, slide, offset)",
        "the windows of time that a time is in; sizes are in microseconds",
        "windows_of('2024-05-01 10:00:07', 10000000, 5000000, 0) -> "
        '{"start":"2024-05-01 10:00:05","end":"2024-05-01 10:00:15"}\n'
        '{"start":"2024-05-01 10:00:00","end":"2024-05-01 10:00:10"}',
        name=WINDOWS_OF,
    ).table(
        (TIMESTAMP, BIGINT, BIGINT, BIGINT), lambda _types: (("window", WINDOW_TYPE),), _windows_of, is_listed=False
    ),
    Page(
        "windows_between(time, size, slide, offset, first, last)",
        "the windows of time that a time is in and that start within bounds, which may be NULL",
        "windows_between('2024-05-01 10:00:07', 10000000, 5000000, 0, '2024-05-01 10:00:05', NULL) -> "
        '{"start":"2024-05-01 10:00:05","end":"2024-05-01 10:00:15"}',
        name=WINDOWS_BETWEEN,
    ).table(
        (TIMESTAMP, BIGINT, BIGINT, BIGINT, TIMESTAMP, TIMESTAMP),
        lambda _types: (("window", WINDOW_TYPE),),
        _windows_between,
        is_listed=False,
    ),
)

"""Dates, timestamps and booleans in plain form. Hive's rules parse all other forms.

All functions return the number of NULL fields and of `odd` rows. All bits of `valid` are set before.
"""

from __future__ import annotations

import numpy as np

from sharkpy.sources.kernels.parse_numbers import HIGH_BITS, TO_HIGH_BITS, digits_of, is_null
from sharkpy.sources.kernels.vector_bytes import Bytes, Numbers, Word, kernel, load_8

_NO_DATE = -(1 << 40)
_COLON, _POINT, _SPACE, _T = 58, 46, 32, 84
_ZEROS_AND_DASHES = np.uint64(0x2D30302D30303030)
_DASHES = np.uint64(0xFF0000FF00000000)
_YEAR_AND_MONTH = np.uint64(0x0000FF0000FF00FF)
_BYTE, _FOUR, _HUNDRED, _FOUR_HUNDRED = np.uint64(255), np.uint64(4), np.uint64(100), np.uint64(400)
_MICROS_PER_SECOND = 1_000_000


@kernel
def _days_of(data: Bytes, start: Word) -> Word:
    """Days since 1970-01-01 of the ten characters YYYY-MM-DD, from the year 1 on; _NO_DATE for other input.

    H. Hinnant, chrono-compatible low-level date algorithms, 2013.
    """
    # Eight characters at once: digits become their values, and dashes 0.
    characters = load_8(data, start) ^ _ZEROS_AND_DASHES
    tens, ones = np.int64(data[start + 8]) - 48, np.int64(data[start + 9]) - 48
    is_odd = (((characters + TO_HIGH_BITS) | characters) & HIGH_BITS) | (characters & _DASHES)
    if is_odd != 0 or tens < 0 or tens > 3 or ones < 0 or ones > 9:
        return _NO_DATE
    pairs = ((characters * np.uint64(10)) + (characters >> np.uint64(8))) & _YEAR_AND_MONTH
    year = (pairs & _BYTE) * np.uint64(100) + ((pairs >> np.uint64(16)) & _BYTE)
    month = pairs >> np.uint64(40)
    day = np.uint64(tens * 10 + ones)
    if year == 0 or month == 0 or month > 12 or day == 0:
        return _NO_DATE
    if day > 28:
        is_leap = year % _FOUR == 0 and (year % _HUNDRED != 0 or year % _FOUR_HUNDRED == 0)
        longest = 28 + is_leap if month == 2 else 30 + ((month + (month > 7)) & np.uint64(1))
        if day > longest:
            return _NO_DATE
    year -= np.uint64(month <= 2)
    day_of_year = (np.uint64(153) * ((month + np.uint64(9)) % np.uint64(12)) + np.uint64(2)) // np.uint64(5) + day
    days = year * np.uint64(365) + year // _FOUR - year // _HUNDRED + year // _FOUR_HUNDRED + day_of_year
    return np.int64(days) - 719469


@kernel
def parse_dates(
    data: Bytes, starts: Numbers, ends: Numbers, null: Bytes, values: Numbers, valid: Bytes, odd: Numbers
) -> tuple[Word, Word]:
    """Parse `YYYY-MM-DD` as days since 1970-01-01."""
    num_nulls, num_odd = 0, 0
    for row in range(len(starts)):
        start, end = np.int64(starts[row]), np.int64(ends[row])
        values[row] = 0
        if is_null(data, start, end, null):
            valid[row >> 3] &= ~np.uint8(1 << (row & 7))
            num_nulls += 1
            continue
        days = _days_of(data, start) if end - start == 10 else _NO_DATE
        if days == _NO_DATE:
            odd[num_odd] = row
            num_odd += 1
        else:
            values[row] = days
    return num_nulls, num_odd


@kernel
def _micros_of(data: Bytes, start: Word, end: Word) -> Word:
    """Microseconds within the day of `HH:MM:SS[.digits]`, without digits after the sixth; -1 for other input."""
    size = end - start
    if size < 8 or size == 9 or size > 18 or data[start + 2] != _COLON or data[start + 5] != _COLON:
        return np.int64(-1)
    hour = digits_of(data, start, start + 2)
    minute = digits_of(data, start + 3, start + 5)
    second = digits_of(data, start + 6, start + 8)
    if hour < 0 or hour > 23 or minute < 0 or minute > 59 or second < 0 or second > 59:
        return np.int64(-1)
    micros = np.int64(0)
    if size > 8:
        micros = digits_of(data, start + 9, end)
        if data[start + 8] != _POINT or micros < 0:
            return np.int64(-1)
        for _ in range(size - 9, 6):
            micros *= 10
        for _ in range(6, size - 9):
            micros //= 10
    return ((hour * 60 + minute) * 60 + second) * _MICROS_PER_SECOND + micros


@kernel
def parse_timestamps(
    data: Bytes, starts: Numbers, ends: Numbers, null: Bytes, values: Numbers, valid: Bytes, odd: Numbers
) -> tuple[Word, Word]:
    """Parse `YYYY-MM-DD[ HH:MM:SS[.digits]]`, also with a T in between, as microseconds since 1970."""
    num_nulls, num_odd = 0, 0
    for row in range(len(starts)):
        start, end = np.int64(starts[row]), np.int64(ends[row])
        values[row] = 0
        if is_null(data, start, end, null):
            valid[row >> 3] &= ~np.uint8(1 << (row & 7))
            num_nulls += 1
            continue
        days = _days_of(data, start) if end - start >= 10 else _NO_DATE
        micros = np.int64(0)
        if end - start > 10:
            is_apart = data[start + 10] == _SPACE or data[start + 10] == _T
            micros = _micros_of(data, start + 11, end) if is_apart else np.int64(-1)
        if days == _NO_DATE or micros < 0:
            odd[num_odd] = row
            num_odd += 1
        else:
            values[row] = days * 86_400 * _MICROS_PER_SECOND + micros
    return num_nulls, num_odd


@kernel
def parse_booleans(
    data: Bytes, starts: Numbers, ends: Numbers, null: Bytes, values: Bytes, valid: Bytes, odd: Numbers
) -> tuple[Word, Word]:
    """Parse `true` and `false` in any case as 1 and 0."""
    num_nulls, num_odd = 0, 0
    for row in range(len(starts)):
        start, end = np.int64(starts[row]), np.int64(ends[row])
        values[row] = 0
        if is_null(data, start, end, null):
            valid[row >> 3] &= ~np.uint8(1 << (row & 7))
            num_nulls += 1
            continue
        word = np.int64(0)
        if end - start <= 5:
            for place in range(start, end):
                word = word << 8 | data[place] | 32
        if word == 0x74727565:
            values[row] = 1
        elif word != 0x66616C7365:
            odd[num_odd] = row
            num_odd += 1
    return num_nulls, num_odd

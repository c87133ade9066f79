"""Numbers, dates, timestamps and booleans in plain form. Hive's lenient rules parse all other forms.

All functions return the number of NULL fields and of `odd` rows. All bits of `valid` are set before.
"""

from __future__ import annotations

import numpy as np

from sharkpy.sources.kernels.vector_bytes import Bytes, Numbers, Word, kernel, load_8

MOST_DIGITS = 18
"""Digits that always fit in 64 bits."""
EXACT_MANTISSA = {64: 1 << 53, 32: 1 << 24}
EXACT_POWER = {64: 22, 32: 10}
"""By bits: largest integer, and largest power of ten, that is exact as a floating-point number."""
POWERS = np.array([float(f"1e{power}") for power in range(EXACT_POWER[64] + 1)])
INTEGER_POWERS = 10 ** np.arange(MOST_DIGITS + 1)
HIGH_BITS, TO_HIGH_BITS = np.uint64(0x8080808080808080), np.uint64(0x7676767676767676)
"""A byte above 9 has its high bit set, or gets it by adding the second constant."""

_ZEROS = np.uint64(0x3030303030303030)
_NIBBLES = np.uint64(0x0F0F0F0F0F0F0F0F)
_PAIRS = np.uint64(0x00FF00FF00FF00FF)
_FOURS = np.uint64(0x0000FFFF0000FFFF)


@kernel
def is_null(data: Bytes, start: Word, end: Word, null: Bytes) -> Word:
    """True if a field of a type other than text has no value: it is missing, empty, or the NULL text."""
    if end <= start:
        return True
    if end - start != len(null):
        return False
    for i in range(len(null)):  # noqa: SIM110 - a loop that LLVM inlines
        if data[start + i] != null[i]:
            return False
    return True


@kernel
def digits_of(data: Bytes, start: Word, end: Word) -> Word:
    """Number from at most 18 digits; -1 for other characters, 0 for no digits."""
    size = end - start
    if 0 < size <= 8 and start + 8 <= len(data):
        # Eight digits at once; bytes after the field are shifted out (D. Lemire, 2018).
        shift = np.uint64(64 - 8 * size)
        digits = (load_8(data, start) ^ _ZEROS) << shift
        if ((digits + TO_HIGH_BITS) | digits) & HIGH_BITS != 0:
            return -1
        digits = ((digits & _NIBBLES) * np.uint64(2561)) >> np.uint64(8)
        digits = ((digits & _PAIRS) * np.uint64(6553601)) >> np.uint64(16)
        return np.int64(((digits & _FOURS) * np.uint64(42949672960001)) >> np.uint64(32))
    number = np.int64(0)
    for place in range(start, end):
        digit = np.int64(data[place]) - 48
        if digit < 0 or digit > 9:
            return np.int64(-1)
        number = number * 10 + digit
    return number


@kernel
def parse_decimals(
    data: Bytes,
    starts: Numbers,
    ends: Numbers,
    null: Bytes,
    scale: int,
    low: int,
    high: int,
    powers: Numbers,
    values: Numbers,
    valid: Bytes,
    odd: Numbers,
) -> tuple[Word, Word]:
    """Parse decimals; return the numbers of NULL fields and of `odd` rows, which are not plain or not within `low` and
    `high`.

    The plain form is `-?digits[.digits]` with at most `scale` digits after the point. `values` are multiplied by
    10**scale; `powers` are powers of ten. All bits of `valid` are set before.
    """
    num_nulls, num_odd = 0, 0
    for row in range(len(starts)):
        start, end = np.int64(starts[row]), np.int64(ends[row])
        if is_null(data, start, end, null):
            values[row] = 0
            valid[row >> 3] &= ~np.uint8(1 << (row & 7))
            num_nulls += 1
            continue
        is_negative = data[start] == 45
        start += is_negative
        point = end - 1 - scale if scale else end
        if scale and (point <= start or data[point] != 46):
            point = start
            while point < end and data[point] != 46:
                point += 1
        fraction_digits: Word = max(end - point - 1, 0)
        number = np.int64(-1)
        if 0 < point - start <= MOST_DIGITS - scale and fraction_digits <= scale and (point == end or fraction_digits):
            whole = digits_of(data, start, point)
            fraction = digits_of(data, point + 1, end)
            if whole >= 0 and fraction >= 0:
                number = whole * powers[scale] + fraction * powers[scale - fraction_digits]
        if number < 0 or (is_negative and -number < low) or (not is_negative and number > high):
            odd[num_odd] = row
            num_odd += 1
            number = np.int64(0)
        values[row] = -number if is_negative else number
    return num_nulls, num_odd


@kernel
def parse_reals(
    data: Bytes,
    starts: Numbers,
    ends: Numbers,
    null: Bytes,
    most_mantissa: int,
    most_power: int,
    powers: Numbers,
    values: Numbers,
    valid: Bytes,
    odd: Numbers,
) -> tuple[Word, Word]:
    """Parse reals `-?digits[.digits][E-?digits]` if one multiplication or division is exact; other rows are `odd`.

    It is exact for digits up to `most_mantissa` and a power of ten up to `most_power` (W. D. Clinger, 1990).
    """
    num_nulls, num_odd = 0, 0
    for row in range(len(starts)):
        start, end = np.int64(starts[row]), np.int64(ends[row])
        if is_null(data, start, end, null):
            values[row] = 0.0
            valid[row >> 3] &= ~np.uint8(1 << (row & 7))
            num_nulls += 1
            continue
        place = start + (data[start] == 45)
        mantissa, num_digits, power = np.int64(0), np.int64(0), np.int64(0)
        is_behind = False
        while place < end:
            digit = np.int64(data[place]) - 48
            if 0 <= digit <= 9:
                mantissa = mantissa * 10 + digit
                num_digits += 1
                power -= is_behind
            elif digit == -2 and not is_behind:
                is_behind = True
            else:
                break
            place += 1
        is_plain = 0 < num_digits <= MOST_DIGITS
        if is_plain and place < end:
            exponent = np.int64(-1)
            is_small = False
            if data[place] | 32 == 101:
                place += 1
                is_small = place < end and data[place] == 45
                place += is_small
                if 0 < end - place <= 3:
                    exponent = digits_of(data, place, end)
            is_plain = exponent >= 0
            power += -exponent if is_small else exponent
        if is_plain and mantissa <= most_mantissa and -most_power <= power <= most_power:
            value = np.float64(mantissa)
            value = value / powers[-power] if power < 0 else value * powers[power]
            values[row] = -value if data[start] == 45 else value
        else:
            values[row] = 0.0
            odd[num_odd] = row
            num_odd += 1
    return num_nulls, num_odd


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

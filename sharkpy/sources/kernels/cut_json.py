"""Offsets of the values of JSON objects. A full parser reads objects that are not plain, row by row.

The keys of an object are expected in the order of the object before it: then a key only costs a comparison.
"""

from __future__ import annotations

import numpy as np

from sharkpy.sources.kernels.vector_bytes import Bytes, Numbers, Word, inlined, kernel, load_8, lowest_one

NUMBER, TEXT, BOOLEAN, REAL, ANY = 0, 1, 2, 3, 5
"""Kinds of values of a column. Only a REAL may have an exponent; ANY takes every value."""
MOST_KEYS = 256
"""Most keys of an object whose order is remembered."""
MOST_COLUMNS = 63
_NULL = 4
_UNKNOWN, _UNCERTAIN = -1, -2
_MOST_DEPTH = 60
_SPACE, _QUOTE, _COMMA, _MINUS, _POINT, _ZERO, _NINE = 32, 34, 44, 45, 46, 48, 57
_COLON, _OPEN, _BACKSLASH, _CLOSE, _OPEN_OBJECT, _CLOSE_OBJECT = 58, 91, 92, 93, 123, 125
_ONES, _HIGH = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_QUOTES, _BACKSLASHES = np.uint64(0x2222222222222222), np.uint64(0x5C5C5C5C5C5C5C5C)
_SPACES = np.uint64(0x2020202020202020)
_ONE = np.uint64(1)


@inlined
def _after_space(data: Bytes, place: Word, end: Word) -> Word:
    while place < end and (data[place] == 32 or data[place] == 10 or data[place] == 13 or data[place] == 9):
        place += 1
    return place


@inlined
def _plain_end(data: Bytes, place: Word, end: Word) -> Word:
    """Offset of the next quote, backslash or control character; `end` if there is none."""
    while place + 8 <= end:
        word = load_8(data, place)
        quotes, backslashes = word ^ _QUOTES, word ^ _BACKSLASHES
        found = ((quotes - _ONES) & ~quotes) | ((backslashes - _ONES) & ~backslashes) | ((word - _SPACES) & ~word)
        found &= _HIGH
        if found != 0:
            return place + (lowest_one(found) >> 3)
        place += 8
    while place < end and data[place] != _QUOTE and data[place] != _BACKSLASH and data[place] >= 32:
        place += 1
    return place


@kernel
def _hex_digits(data: Bytes, place: Word, end: Word) -> Word:
    """True if four hexadecimal digits follow."""
    if place + 4 > end:
        return False
    for i in range(place, place + 4):
        byte = data[i]
        small = byte | 32
        if not (_ZERO <= byte <= _NINE or 97 <= small <= 102):
            return False
    return True


@kernel
def _text_end(data: Bytes, place: Word, end: Word) -> Word:
    """Offset of the quote that ends a text with valid escapes; -1 if it is not a valid text."""
    while True:
        place = _plain_end(data, place, end)
        if place >= end:
            return -1
        if data[place] == _QUOTE:
            return place
        if data[place] != _BACKSLASH or place + 1 >= end:
            return -1
        byte = data[place + 1]
        if byte == 117:
            if not _hex_digits(data, place + 2, end):
                return -1
            place += 6
        elif byte in (_QUOTE, _BACKSLASH, 47, 98, 102, 110, 114, 116):
            place += 2
        else:
            return -1


@inlined
def _after_digits(data: Bytes, place: Word, end: Word) -> Word:
    while place < end and _ZERO <= data[place] <= _NINE:
        place += 1
    return place


@inlined
def _scalar(data: Bytes, place: Word, end: Word) -> tuple[Word, Word]:
    """End and kind of a number, true, false or null; -1 and any kind for other input."""
    byte = data[place]
    if byte in (116, 110):
        if place + 4 > end:
            return -1, 0
        word = np.int64(0)
        for i in range(place, place + 4):
            word = word << 8 | data[i]
        if word == 0x74727565:
            return place + 4, BOOLEAN
        return (place + 4, _NULL) if word == 0x6E756C6C else (-1, 0)
    if byte == 102:
        if place + 5 > end:
            return -1, 0
        word = np.int64(0)
        for i in range(place, place + 5):
            word = word << 8 | data[i]
        return (place + 5, BOOLEAN) if word == 0x66616C7365 else (-1, 0)
    start = place + (byte == _MINUS)
    place = _after_digits(data, start, end)
    if place == start or (data[start] == _ZERO and place > start + 1):
        return -1, 0
    if place < end and data[place] == _POINT:
        start = place + 1
        place = _after_digits(data, start, end)
        if place == start:
            return -1, 0
    has_exponent = place < end and data[place] | 32 == 101
    if has_exponent:
        place += 1
        place += place < end and (data[place] == 43 or data[place] == _MINUS)
        start = place
        place = _after_digits(data, start, end)
        if place == start:
            return -1, 0
    return place, REAL if has_exponent else NUMBER


@kernel
def _nested_end(data: Bytes, place: Word, end: Word) -> Word:  # noqa: C901, PLR0912 - one loop, as there is no stack
    """Offset after an object or array; -1 if it is invalid or too deep."""
    objects = np.uint64(0)
    depth = 0
    while True:
        # A value is expected here.
        if place >= end:
            return -1
        byte = data[place]
        is_open = byte in (_OPEN_OBJECT, _OPEN)
        if is_open:
            depth += 1
            if depth > _MOST_DEPTH:
                return -1
            objects = objects << _ONE | np.uint64(byte == _OPEN_OBJECT)
            place = _after_space(data, place + 1, end)
            if place >= end:
                return -1
        elif byte == _QUOTE:
            place = _text_end(data, place + 1, end)
            if place < 0:
                return -1
            place += 1
        else:
            place, _ = _scalar(data, place, end)
            if place < 0:
                return -1
        is_first = is_open
        # After a value, or at the beginning of an object or array.
        while True:
            place = _after_space(data, place, end)
            if place >= end:
                return -1
            is_object = objects & _ONE != 0
            if data[place] == (_CLOSE_OBJECT if is_object else _CLOSE):
                place += 1
                depth -= 1
                objects >>= _ONE
                is_first = False
                if depth == 0:
                    return place
                continue
            break
        if not is_first:
            if data[place] != _COMMA:
                return -1
            place = _after_space(data, place + 1, end)
        if is_object:
            if place >= end or data[place] != _QUOTE:
                return -1
            place = _text_end(data, place + 1, end)
            if place < 0:
                return -1
            place = _after_space(data, place + 1, end)
            if place >= end or data[place] != _COLON:
                return -1
            place = _after_space(data, place + 1, end)


@inlined
def _is_same(data: Bytes, one: Word, other: Word, size: Word) -> Word:
    place = 0
    if one + size + 8 <= len(data):
        while place + 8 <= size:
            if load_8(data, one + place) != load_8(data, other + place):
                return False
            place += 8
        rest = size - place
        if rest == 0:
            return True
        differing = load_8(data, one + place) ^ load_8(data, other + place)
        return differing << np.uint64(64 - 8 * rest) == 0
    while place < size:
        if data[one + place] != data[other + place]:
            return False
        place += 1
    return True


@kernel
def _column_of(data: Bytes, start: Word, end: Word, names: Bytes, name_ends: Numbers) -> Word:
    """Number of the column with a key's name, in any case; _UNKNOWN if none, _UNCERTAIN for a non-ASCII key."""
    for place in range(start, end):
        if data[place] >= 128:
            return _UNCERTAIN
    first = 0
    for column in range(len(name_ends)):
        last = name_ends[column]
        if last - first == end - start:
            is_same = True
            for i in range(end - start):
                byte = data[start + i]
                if 65 <= byte <= 90:
                    byte |= np.uint8(32)
                is_same &= byte == names[first + i]
            if is_same:
                return column
        first = last
    return _UNKNOWN


@kernel
def cut_json(  # noqa: C901, PLR0912, PLR0915 - a call that is not inlined takes longer than a field
    data: Bytes,
    row_starts: Numbers,
    row_ends: Numbers,
    names: Bytes,
    name_ends: Numbers,
    kinds: Numbers,
    starts: Numbers,
    ends: Numbers,
    odd: Numbers,
) -> Word:
    """Find the values of columns; return the number of `odd` rows, which are not plain objects or have values of other
    kinds.

    `names` are in lower case, one after the other. `starts` and `ends` are (columns, rows): the value of a column is
    data[start:end]. A text is without its quotes; an object or array is complete. A value that is null or missing, and
    every value of an odd row, starts at -1.
    """
    key_starts = np.zeros(MOST_KEYS, np.int64)
    key_sizes = np.zeros(MOST_KEYS, np.int64)
    key_columns = np.zeros(MOST_KEYS, np.int64)
    num_keys, num_odd = 0, 0
    num_columns = len(kinds)
    for row in range(len(row_starts)):
        for index in range(num_columns):
            starts[index, row] = -1
            ends[index, row] = -1
        end = np.int64(row_ends[row])
        place = _after_space(data, np.int64(row_starts[row]), end)
        is_plain = place < end and data[place] == _OPEN_OBJECT
        place = _after_space(data, place + 1, end)
        is_empty = is_plain and place < end and data[place] == _CLOSE_OBJECT
        seen = np.uint64(0)
        key = 0
        while is_plain and not is_empty:
            is_plain = False
            if place >= end or data[place] != _QUOTE:
                break
            place += 1
            is_expected = False
            column = np.int64(_UNKNOWN)
            if key < num_keys:
                size = key_sizes[key]
                if place + size < end and data[place + size] == _QUOTE and _is_same(data, place, key_starts[key], size):
                    is_expected = True
                    column = key_columns[key]
                    place += size
            if not is_expected:
                close = _plain_end(data, place, end)
                if close >= end or data[close] != _QUOTE:
                    break
                column = np.int64(_column_of(data, place, close, names, name_ends))
                if column == _UNCERTAIN:
                    break
                if key < MOST_KEYS:
                    key_starts[key] = place
                    key_sizes[key] = close - place
                    key_columns[key] = column
                    num_keys = max(num_keys, key + 1)
                place = close
            key += 1
            place += 1
            if place < end and data[place] <= _SPACE:
                place = _after_space(data, place, end)
            if place >= end or data[place] != _COLON:
                break
            place += 1
            if place < end and data[place] == _SPACE:
                place += 1
            if place < end and data[place] <= _SPACE:
                place = _after_space(data, place, end)
            if place >= end:
                break
            if column >= 0:
                bit = _ONE << np.uint64(column)
                if seen & bit != 0:
                    break
                seen |= bit
            byte = data[place]
            if byte == _QUOTE:
                if column >= 0:
                    close = _plain_end(data, place + 1, end)
                    if close >= end or data[close] != _QUOTE or (kinds[column] != TEXT and kinds[column] != ANY):
                        break
                    starts[column, row] = place + 1
                    ends[column, row] = close
                else:
                    close = _text_end(data, place + 1, end)
                    if close < 0:
                        break
                place = close + 1
            elif byte in (_OPEN_OBJECT, _OPEN):
                if column >= 0 and kinds[column] != ANY:
                    break
                close = np.int64(_nested_end(data, place, end))
                if close < 0:
                    break
                if column >= 0:
                    starts[column, row] = place
                    ends[column, row] = close
                place = close
            else:
                close, kind = _scalar(data, place, end)
                if close < 0:
                    break
                if column >= 0 and kind != _NULL:
                    # The integer -0 is 0, even in a column of reals.
                    is_zero = close - place == 2 and data[place] == _MINUS and data[place + 1] == _ZERO
                    is_number = kinds[column] == REAL and kind == NUMBER
                    is_wanted = kinds[column] == kind or kinds[column] == ANY or is_number
                    if not is_wanted or is_zero:
                        break
                    starts[column, row] = place
                    ends[column, row] = close
                place = close
            if place < end and data[place] <= _SPACE:
                place = _after_space(data, place, end)
            if place >= end:
                break
            if data[place] == _COMMA:
                place += 1
                if place < end and data[place] == _SPACE:
                    place += 1
                if place < end and data[place] <= _SPACE:
                    place = _after_space(data, place, end)
                is_plain = True
                continue
            if data[place] == _CLOSE_OBJECT:
                is_empty = True
                is_plain = True
        if not is_plain or _after_space(data, place + 1, end) != end:
            for index in range(num_columns):
                starts[index, row] = -1
                ends[index, row] = -1
            odd[num_odd] = row
            num_odd += 1
    return num_odd

"""Offsets of the values of JSON documents, which may contain line breaks anywhere."""

from __future__ import annotations

from sharkpy.sources.kernels.vector_bytes import Bytes, Numbers, Word, kernel

DEPTH, IN_TEXT, IN_ARRAY, START, PLACE = range(5)
"""Indexes of the state's values: depth within a value; whether a text (2: after its backslash) and an array of rows are
open; start of the unfinished value, which may be before the data; offset up to which the data are read.
"""
NOWHERE = 1 << 40
"""Start if there is no unfinished value."""
_SPACE, _QUOTE, _COMMA = 32, 34, 44
_OPEN, _BACKSLASH, _CLOSE, _OPEN_OBJECT, _CLOSE_OBJECT = 91, 92, 93, 123, 125


@kernel
def cut_documents(data: Bytes, state: Numbers, starts: Numbers, ends: Numbers) -> Word:  # noqa: C901 - a loop
    """Find values that end in `data`, at most as many as `starts` has room for; return their number, and update
    `state`.

    Values follow each other, with blanks or commas in between, or are items of an outermost array.
    """
    depth, in_text, in_array, start = state[0], state[1], state[2], state[3]
    found = 0
    place = state[4]
    while place < len(data) and found < len(starts):
        byte = data[place]
        is_end = False
        if in_text == 1:
            if byte == _BACKSLASH:
                in_text = 2
            elif byte == _QUOTE:
                in_text = 0
                is_end = depth == 0
        elif in_text == 2:
            in_text = 1
        elif depth > 0:
            if byte == _QUOTE:
                in_text = 1
            elif byte in (_OPEN, _OPEN_OBJECT):
                depth += 1
            elif byte in (_CLOSE, _CLOSE_OBJECT):
                depth -= 1
                is_end = depth == 0
        else:
            is_sign = byte in (_OPEN, _OPEN_OBJECT, _QUOTE)
            if start != NOWHERE and (byte <= _SPACE or byte in (_COMMA, _CLOSE) or is_sign):
                # A number or a word ends before this byte, which is examined again.
                starts[found] = start
                ends[found] = place
                found += 1
                start = NOWHERE
                continue
            if byte == _OPEN and in_array == 0:
                in_array = 1
            elif byte == _CLOSE and in_array == 1:
                in_array = 0
            elif start == NOWHERE and byte > _SPACE and byte != _COMMA:
                start = place
                depth = 1 if byte in (_OPEN, _OPEN_OBJECT) else 0
                in_text = 1 if byte == _QUOTE else 0
        place += 1
        if is_end:
            starts[found] = start
            ends[found] = place
            found += 1
            start = NOWHERE
    state[0], state[1], state[2], state[3], state[4] = depth, in_text, in_array, start, place
    return found

"""JSON documents: objects over several lines, one after the other, or the items of an array."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.sources.line_limit import LineLimit

Places = np.ndarray[Any, np.dtype[np.int32]]
Parts = tuple[bytes, Places, Places]
"""Some bytes, and the offsets at which values begin and end in them."""
_MOST_PARTS = 1 << 16
_LONGEST_WORD = len("-Infinity")
_DECODER = json.JSONDecoder(parse_int=float)


def document_parts(chunks: Iterable[bytes], limit: LineLimit) -> Iterator[Parts]:
    """Values in the pieces of a file; the last one may be cut off."""
    from sharkpy.sources.kernels.cut_documents import NOWHERE, PLACE, START, cut_documents

    state = np.array([0, 0, 0, NOWHERE, 0], np.int64)
    starts, ends = np.empty(_MOST_PARTS, np.int32), np.empty(_MOST_PARTS, np.int32)
    pieces: list[bytes] = []
    """Pieces of the value whose end was not read yet; they are joined only once."""
    done = held = 0
    for chunk in chunks:
        state[PLACE] = 0
        if held:
            state[START] = -held
        while state[PLACE] < len(chunk):
            check_cancelled()
            if found := cut_documents(np.frombuffer(chunk, np.uint8), state, starts, ends):
                data, before = (b"".join((*pieces, chunk)), held) if starts[0] < 0 else (chunk, 0)
                yield data, starts[:found] + np.int32(before), ends[:found] + np.int32(before)
        done += len(chunk)
        pieces = [] if state[START] >= 0 else [*pieces, chunk]
        if 0 <= state[START] < NOWHERE:
            pieces = [chunk[state[START] :]]
        held = sum(map(len, pieces))
        limit.check_unfinished(held, done - held)
    if held:
        yield b"".join(pieces), np.array([0], np.int32), np.array([held], np.int32)


def is_document(head: bytes, *, is_whole: bool) -> bool:
    """True if a file that begins with `head` is read as a document: its first line is not a whole object. `is_whole`:
    `head` is the whole file.
    """
    text = head.decode("utf-8", "replace").removeprefix("\ufeff").lstrip()
    line, end, _ = text.partition("\n")
    if not text.startswith(("{", "[")) or (text.startswith("{") and not end and not is_whole):
        return text.startswith("[")
    try:
        check_json_nesting(text)
        value, place = _DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(text) - _LONGEST_WORD or error.msg.startswith("Unterminated string")
        return is_cut and not is_whole
    except ValueError:
        return False
    # More text after an object on its line is another object.
    return isinstance(value, list) or place > len(line) or line[place:].lstrip().startswith(("{", ","))

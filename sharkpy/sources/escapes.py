"""Escaped characters of text files: hidden behind bytes that UTF-8 never uses while fields are parted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.text_format import CARRIAGE_RETURN, NEWLINE, TextFormat

if TYPE_CHECKING:
    pass

_SPARE_BYTES = (0xC0, 0xC1, *range(0xF5, 0x100))
"""Never part of valid UTF-8, so never in the (validated) data."""
_MOST_HIDDEN = 11
"""So many leave two bytes for line ends inside rows."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """Substitutions that `hide` made: `escape` is dropped from values (None: it did not occur), then `restores` undone.

    `null` is the null text as it now appears in the data.
    """

    escape: int | None
    restores: tuple[tuple[int, int], ...]
    null: bytes

    def __bool__(self) -> bool:
        return self.escape is not None or bool(self.restores)

    def reveal(self, raw: Array) -> Array:
        """Field values (binary) as they were before writing escaped them."""
        if self.escape is not None:
            raw = pc.replace_substring(raw, bytes([self.escape]), b"")
        for spare, original in self.restores:
            raw = pc.replace_substring(raw, bytes([spare]), bytes([original]))
        return raw


def hide(data: bytes, layout: TextFormat) -> tuple[bytes, Hidden]:
    """`data` (valid UTF-8) such that every line feed ends a line and every separator parts fields.

    An escape before `n` or `r` stands for a line feed or carriage return, as Hive writes them.
    """
    restores: list[tuple[int, int]] = []
    spares = iter(_SPARE_BYTES)
    null = layout.null
    if layout.line != NEWLINE:
        for byte in (NEWLINE, CARRIAGE_RETURN):
            if bytes([byte]) in data:
                spare = next(spares)
                restores.append((spare, byte))
                data = data.replace(bytes([byte]), bytes([spare]))
        data = data.replace(bytes([layout.line]), b"\n")
    escape = layout.escape
    if escape is None or bytes([escape]) not in data:
        return data, Hidden(None, tuple(restores), null)
    hidden = {ord("n"): NEWLINE, ord("r"): CARRIAGE_RETURN}
    hidden |= {byte: byte for byte in (*layout.separators, escape)}
    if len(hidden) > _MOST_HIDDEN:
        # There are fewer unused bytes than separators of the extended nesting: those that occur escaped need one.
        hidden = {byte: meaning for byte, meaning in hidden.items() if bytes([escape, byte]) in data}
    table = bytearray(256)
    for byte, meaning in hidden.items():
        table[byte] = next(spares)
        restores.append((table[byte], meaning))
    data = _hide_escaped(data, escape, table)
    present = tuple(item for item in restores if bytes([item[0]]) in data)
    return data, Hidden(escape, present, _hide_escaped(null, escape, table))


def _hide_escaped(data: bytes, escape: int, table: bytearray) -> bytes:
    """Bytes after an active escape replaced by `table`; an escape that ends a line becomes plain."""
    import numpy as np

    buffer = np.frombuffer(data + b"\n", dtype=np.uint8).copy()
    places = np.flatnonzero(buffer == escape)
    if not len(places):
        return data
    indices = np.arange(len(places))
    is_start = np.concatenate(([True], np.diff(places) != 1))
    run_start = np.maximum.accumulate(np.where(is_start, indices, 0))
    leading = places[(indices - run_start) % 2 == 0]
    follows = buffer[leading + 1]
    at_end = (follows == NEWLINE) | (follows == CARRIAGE_RETURN)
    lookup = np.frombuffer(bytes(table), dtype=np.uint8)
    active = leading[~at_end]
    replacement = lookup[buffer[active + 1]]
    buffer[active + 1] = np.where(replacement != 0, replacement, buffer[active + 1])
    buffer[leading[at_end]] = lookup[escape]
    return buffer[:-1].tobytes()

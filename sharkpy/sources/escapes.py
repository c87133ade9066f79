"""Escaped characters of text files, replaced by bytes that UTF-8 never uses while lines are split into fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.text_format import CARRIAGE_RETURN, NEWLINE, TextFormat

if TYPE_CHECKING:
    pass

_SPARE_BYTES = (0xC0, 0xC1, *range(0xF5, 0x100))
"""Bytes that are never part of valid UTF-8, so never in the (validated) data."""
_MOST_HIDDEN = 11
"""Most escaped characters with a byte of their own; two bytes remain for line ends inside rows."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """Substitutions made by `hide`. In values, `escape` is dropped (None: it did not occur), then `restores` are
    undone.

    `null` is the NULL text in its form in the data.
    """

    escape: int | None
    restores: tuple[tuple[int, int], ...]
    null: bytes

    def __bool__(self) -> bool:
        return self.escape is not None or bool(self.restores)

    def reveal(self, raw: Array) -> Array:
        """Field values (binary) without escapes."""
        if self.escape is not None:
            raw = pc.replace_substring(raw, bytes([self.escape]), b"")
        for spare, original in self.restores:
            raw = pc.replace_substring(raw, bytes([spare]), bytes([original]))
        return raw


def hide(data: bytes, layout: TextFormat) -> tuple[bytes, Hidden]:
    """`data` (valid UTF-8), changed so that every line feed ends a line and every separator ends a field.

    An escape before `n` or `r` means a line feed or carriage return, as Hive writes them.
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
        # There are fewer unused bytes than separators of the extended nesting: only escaped ones get a byte.
        hidden = {byte: meaning for byte, meaning in hidden.items() if bytes([escape, byte]) in data}
    table = bytearray(256)
    for byte, meaning in hidden.items():
        table[byte] = next(spares)
        restores.append((table[byte], meaning))
    data = _hide_escaped(data, escape, table)
    present = tuple(item for item in restores if bytes([item[0]]) in data)
    return data, Hidden(escape, present, _hide_escaped(null, escape, table))


def _hide_escaped(data: bytes, escape: int, table: bytearray) -> bytes:
    """Replace bytes after an active escape by `table`; an escape at the end of a line becomes a plain character."""
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

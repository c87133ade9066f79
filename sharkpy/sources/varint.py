"""Numbers of seven bits a byte, the lowest first, as in Avro and Protocol Buffers."""

from __future__ import annotations

from sharkpy.sources.file_bytes import FileBytes

_MOST_SHIFT = 63


def read_varint(data: bytes | FileBytes, place: int) -> tuple[int, int]:
    """Unsigned number, and its end. IndexError if the data end too early, or the number has more than 64 bits."""
    number = shift = 0
    while True:
        byte = data[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
        shift += 7
        if shift > _MOST_SHIFT:
            raise IndexError(place)

"""Numbers of seven bits a byte, the lowest first, as Avro and Protocol Buffers write them."""

from __future__ import annotations

from sharkpy.sources.file_bytes import FileBytes

_MOST_SHIFT = 63


def read_varint(data: bytes | FileBytes, place: int) -> tuple[int, int]:
    """A number without sign, and where it ends; IndexError where the data end before it does, or it has more than 64
    bits.
    """
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

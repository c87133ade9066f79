"""Numbers and texts in binary files: variable-length numbers of Avro and Protocol Buffers, and Hadoop's writables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, overload

import numpy as np
import numpy.typing as npt


class FileBytes(Protocol):
    """Bytes of a file, with the interface of `bytes`."""

    def __len__(self) -> int: ...

    @overload
    def __getitem__(self, key: int, /) -> int: ...

    @overload
    def __getitem__(self, key: slice, /) -> bytes: ...

    def find(self, sub: bytes, start: int, /) -> int:
        """Offset of the first `sub` from `start` on; -1 if there is none."""
        ...


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


BytesLike = bytes | bytearray | memoryview
IntArray = npt.NDArray[np.int64]
_LONG_BYTES = 8


def read_vlong(data: BytesLike | FileBytes, place: int) -> tuple[int, int]:
    """Number of up to 64 bits at `place`, and its end. IndexError if the data ends before it.

    Numbers from -112 to 127 are one byte; other numbers are a length and big-endian bytes.
    """
    first = data[place]
    if first < 128:
        return first, place + 1
    if first >= 144:
        return first - 256, place + 1
    is_negative = first < 136
    size = (136 - first) if is_negative else (144 - first)
    end = place + 1 + size
    content = data[place + 1 : end]
    if len(content) < size:
        raise IndexError(place)
    value = int.from_bytes(content, "big", signed=size == _LONG_BYTES)
    return (~value if is_negative else value), end


def write_vlong(value: int) -> bytes:
    if -112 <= value <= 127:
        return bytes([value & 0xFF])
    magnitude, base = (~value, 136) if value < 0 else (value, 144)
    size = (magnitude.bit_length() + 7) // 8
    return bytes([base - size]) + magnitude.to_bytes(size, "big")


def read_text(data: BytesLike | FileBytes, place: int) -> tuple[str, int]:
    """Text at `place`, and its end. IndexError if the data ends before it."""
    size, start = read_vlong(data, place)
    if size < 0 or start + size > len(data):
        raise IndexError(place)
    return bytes(data[start : start + size]).decode("utf-8", "replace"), start + size


def write_text(text: str) -> bytes:
    data = text.encode()
    return write_vlong(len(data)) + data


def read_vlongs(data: BytesLike, count: int) -> list[int]:
    """The first `count` numbers of `data`."""
    values, place = [], 0
    for _ in range(count):
        value, place = read_vlong(data, place)
        values.append(value)
    return values


def vlongs_at(data: npt.NDArray[np.uint8], starts: IntArray) -> IntArray:
    """Numbers that begin at `starts`, all at once."""
    first = data[starts].astype(np.int64)
    values = np.where(first < 128, first, first - 256)
    is_long = (first >= 128) & (first < 144)
    sizes = np.where(first < 136, 136 - first, 144 - first)
    for size in np.unique(sizes[is_long]).tolist():
        chosen = np.flatnonzero(is_long & (sizes == size))
        places = starts[chosen]
        value = np.zeros(len(chosen), np.uint64)
        for step in range(1, size + 1):
            value = (value << np.uint64(8)) | data[places + step].astype(np.uint64)
        signed = value.astype(np.int64)
        values[chosen] = np.where(first[chosen] < 136, ~signed, signed)
    return values


def joined_vlongs(values: Sequence[int]) -> bytes:
    return b"".join(map(write_vlong, values))
